import { useState } from "preact/hooks";
import { guardedAttackers, guardedNetworks, guardNetwork, guardOf, unguardNetwork } from "../../api/feeds.ts";
import type { Guarded, GuardedNetworks } from "../../api/operations.ts";
import { useAction } from "../../api/use-action.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath } from "../../routing/paths.ts";
import { ActionFault } from "../../shell/action-fault.tsx";
import { formatCount, formatMinute } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { ATTACKED, GUARD_REASONS, guardDetails } from "./guard-reasons.ts";

const SHOWN_ATTACKERS = 20;

/** What no feed lists, unless the feed says otherwise. */
export function Guard() {
  const networks = useAnswer(guardedNetworks());
  const action = useAction();
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) return;
    const data = new FormData(form);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    if ((await action.run(guardNetwork(text("network"), text("note")))) === undefined) return;
    form.reset();
    networks.retry();
  };
  const remove = async (id: string) => {
    if ((await action.run(unguardNetwork(id))) !== undefined) networks.retry();
  };
  return (
    <section aria-labelledby="guard">
      <h2 id="guard">What no feed lists</h2>
      <p class="faint">
        Known benign services of trust level 1 and 2, known benign actors as long as they do not attack, the service's
        own addresses, and these networks of yours. The search finds them all the same.
      </p>
      <Loaded of={networks} what="the guarded networks">
        {(data) => <Networks networks={data.networks} remove={(id) => void remove(id)} />}
      </Loaded>
      <form class="filters" aria-label="Guard a network" onSubmit={add}>
        <label class="choice">
          Network
          <input name="network" required placeholder="198.51.100.0/24" autocomplete="off" spellcheck={false} />
        </label>
        <label class="choice">
          Note
          <input name="note" maxLength={1_000} placeholder="a partner" autocomplete="off" />
        </label>
        <button type="submit" disabled={action.isRunning}>
          Guard it
        </button>
      </form>
      <ActionFault message={action.message} />
      <WhyGuarded />
      <Attackers />
    </section>
  );
}

type NetworksProps = GuardedNetworks & { remove(id: string): void };

function Networks({ networks, remove }: NetworksProps) {
  if (networks.length === 0) return <p class="empty">You guard no network yet.</p>;
  return (
    <ul class="tags">
      {networks.map(({ id, network, note }) => (
        <li key={id} data-guarded={network}>
          <code>{network}</code> <Hostile text={note} />{" "}
          <button type="button" class="link" onClick={() => remove(id)}>
            Guard {network} no longer
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Known addresses that attack: somebody may have broken into them. */
function Attackers() {
  const attackers = useAnswer(guardedAttackers());
  return (
    <Loaded of={attackers} what="the guarded addresses that attacked">
      {({ count, addresses }) =>
        count === 0 ? null : (
          <div class="notice" role="note" data-attackers>
            <p>
              {count === 1 ? "A known address" : `${formatCount(count)} known addresses`} attacked: logged in, ran a
              command, downloaded or left a file. Tell whom they belong to.
            </p>
            <ul class="tags">
              {addresses.slice(0, SHOWN_ATTACKERS).map(({ ip, guarded, last_seen: last, ...why }) => (
                <li key={ip}>
                  <a href={addressPath(ip)}>{ip}</a>, {formatMinute(last)}: {GUARD_REASONS[why.reason]}{" "}
                  <Hostile text={guardDetails(why)} />
                  {guarded ? "" : "; feeds may list it"}
                </li>
              ))}
            </ul>
          </div>
        )
      }
    </Loaded>
  );
}

function WhyGuarded() {
  const [answer, setAnswer] = useState<Guarded>();
  const action = useAction();
  const check = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    setAnswer(await action.run(guardOf(String(new FormData(event.currentTarget).get("ip") ?? "").trim())));
  };
  return (
    <form class="filters" aria-label="Is an address guarded?" onSubmit={check}>
      <label class="choice">
        Is this address guarded?
        <input name="ip" required placeholder="192.175.48.6" autocomplete="off" spellcheck={false} />
      </label>
      <button type="submit" class="quiet" disabled={action.isRunning}>
        Check
      </button>
      <span role="status">
        {answer === undefined ? (
          <Hostile text={action.message} />
        ) : (
          <>
            {answer.ip} is {answer.reason === "" ? "not guarded" : `guarded: ${GUARD_REASONS[answer.reason]}`}
            <Details of={answer} />
            {answer.attacked ? `; ${ATTACKED}` : ""}.
          </>
        )}
      </span>
    </form>
  );
}

function Details({ of }: { readonly of: Guarded }) {
  const details = guardDetails(of);
  if (details === "") return null;
  return (
    <>
      {" "}
      (<Hostile text={details} />)
    </>
  );
}
