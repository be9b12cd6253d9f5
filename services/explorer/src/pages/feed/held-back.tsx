import { heldBackOf } from "../../api/feeds.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { addressPath } from "../../routing/paths.ts";
import { Loaded } from "../../shell/loaded.tsx";
import { formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

const SHOWN = 50;

const REASONS = {
  service: "a known benign service",
  actor: "a known benign actor",
  own_address: "one of the service's own addresses",
  network: "in a network of yours",
} as const;

/** Which addresses of a feed the guard holds back, and why. */
export function HeldBackAddresses({ name }: { readonly name: string }) {
  const heldBack = useAnswer(heldBackOf(name));
  return (
    <section aria-labelledby="held-back">
      <h2 id="held-back">Held back by the guard</h2>
      <Loaded of={heldBack} what="the addresses that are held back">
        {({ count, addresses }) => (
          <>
            <ul class="addresses">
              {addresses.slice(0, SHOWN).map(({ ip, reason, name: whose, network, note }) => (
                <li key={ip} data-held-back={ip}>
                  <a href={addressPath(ip)}>{ip}</a> {REASONS[reason]}{" "}
                  <Hostile text={[whose, network, note].filter((text) => text !== "").join(", ")} />
                </li>
              ))}
            </ul>
            {count > SHOWN ? (
              <p class="faint hint">
                The first {SHOWN} of {formatCount(count)}.
              </p>
            ) : null}
          </>
        )}
      </Loaded>
    </section>
  );
}
