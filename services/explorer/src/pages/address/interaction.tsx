import type { Interaction as Sent } from "../../api/operations.ts";
import { interactionOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { type SearchedField, valuePath } from "../../search/value-search.tsx";
import { formatCount, plural } from "../../text/format.ts";
import { Facts, type Item, items, LinkedCode } from "./facts.tsx";

/** What an address sent to sensors that let it log in, where they reported any; one lookup. */
export function Interaction({ ip }: { readonly ip: string }) {
  const sent = useAnswer(interactionOf(ip));
  return (
    <Loaded of={sent} what="what it tried to log in with and typed">
      {(data) => <Facts title="Logins and commands" facts={factsOf(data)} />}
    </Loaded>
  );
}

type Counted = Item & { readonly observations: number };

function factsOf(sent: Sent) {
  const { credentials, commands, urls, payloads } = sent;
  return [
    ["Login attempts", sent.login_attempts === 0 ? "" : formatCount(sent.login_attempts)],
    [
      "Tried to log in with",
      listed(
        credentials.map(({ username, password, observations }) => ({
          key: JSON.stringify([username, password]),
          shown: <Tried username={username} password={password} />,
          observations,
        })),
        sent.total_credentials,
      ),
    ],
    [
      "Commands",
      listed(
        commands.map(({ command, observations }) => toCounted("command", command, observations)),
        sent.total_commands,
      ),
    ],
    [
      "Downloads",
      listed(
        urls.map(({ url, observations }) => toCounted("url", url, observations)),
        sent.total_urls,
      ),
    ],
    [
      "Files left (SHA-256)",
      listed(
        payloads.map(({ sha256, observations }) => toCounted("sha256", sha256, observations)),
        sent.total_payloads,
      ),
    ],
  ] as const;
}

const toCounted = (field: SearchedField, text: string, observations: number): Counted => ({
  key: text,
  shown: <LinkedCode field={field} text={text} />,
  observations,
});

/** A login, with the searches for all addresses that tried its name, its password, or both. */
export function Tried({ username, password }: { readonly username: string; readonly password: string }) {
  return (
    <>
      {username === "" ? <span class="faint">no name</span> : <LinkedCode field="username" text={username} />}{" "}
      {username === "" || password === "" ? (
        "and"
      ) : (
        <a href={valuePath("credential", `${username}/${password}`)} title="Who tried both">
          and
        </a>
      )}{" "}
      {password === "" ? <span class="faint">no password</span> : <LinkedCode field="password" text={password} />}
    </>
  );
}

/** The entries, the most frequent first. That many of them were seen once is said once, not with each. */
function listed(list: readonly Counted[], total: number) {
  if (total === 0) return undefined;
  const once = list.filter(({ observations }) => observations === 1).length;
  return (
    <>
      {list.length === total ? null : (
        <p class="faint">
          The {formatCount(list.length)} most frequent of {formatCount(total)}
        </p>
      )}
      {items(list.map((one) => ({ ...one, shown: one.observations === 1 ? one.shown : <Frequent {...one} /> })))}
      {once === 0 ? null : (
        <p class="faint hint">
          {list.length === 1 ? "In" : once === list.length ? "Each in" : "All others in"} 1 observation.
        </p>
      )}
    </>
  );
}

function Frequent({ shown, observations }: Counted) {
  return (
    <>
      {shown} <span class="faint">({plural(observations, "observation")})</span>
    </>
  );
}
