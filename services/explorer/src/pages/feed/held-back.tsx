import { heldBackOf } from "../../api/feeds.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath } from "../../routing/paths.ts";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { ATTACKED, GUARD_REASONS, guardDetails } from "../feeds/guard-reasons.ts";

const SHOWN = 20;

/** Which addresses of a feed the guard holds back, and why. */
export function HeldBackAddresses({ name }: { readonly name: string }) {
  const heldBack = useAnswer(heldBackOf(name));
  return (
    <section aria-labelledby="held-back">
      <h2 id="held-back">Held back by the guard</h2>
      <Loaded of={heldBack} what="the addresses that are held back">
        {({ count, addresses }) => (
          <>
            <ScrollRegion label="Addresses that are held back">
              <table>
                <caption class="hidden">Addresses that the guard holds back</caption>
                <thead>
                  <tr>
                    <th scope="col">Address</th>
                    <th scope="col">Why</th>
                    <th scope="col">Details</th>
                  </tr>
                </thead>
                <tbody>
                  {addresses.slice(0, SHOWN).map(({ ip, reason, attacked, ...facts }) => (
                    <tr key={ip} data-held-back={ip}>
                      <th scope="row">
                        <a href={addressPath(ip)}>{ip}</a>
                      </th>
                      <td>
                        {GUARD_REASONS[reason]}
                        {attacked ? `; ${ATTACKED}` : ""}
                      </td>
                      <td>
                        <Hostile text={guardDetails(facts)} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollRegion>
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
