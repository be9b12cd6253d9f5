import { type Entry, NOT_LOOKED_UP } from "@noisefloor/domain/pasted-text/find-addresses.ts";
import { networkPath } from "../../routing/paths.ts";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { TableHead } from "../../shell/table-head.tsx";
import { formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

const SHOWN = 500;

/** The rest of a list, with the reason of each. */
export function NotLookedUp({ entries }: { readonly entries: readonly Entry[] }) {
  if (entries.length === 0) return null;
  const more = entries.length - SHOWN;
  return (
    <section aria-labelledby="not-looked-up">
      <h2 id="not-looked-up">Not looked up</h2>
      <ScrollRegion label="Not looked up" isTall>
        <table>
          <caption class="hidden">What is in the list besides addresses, and why it was not looked up</caption>
          <TableHead headings={["Entry", "Why"]} />
          <tbody>
            {entries.slice(0, SHOWN).map((entry) => (
              <tr key={entry.text}>
                <th scope="row">
                  <Hostile text={entry.text} />
                </th>
                <td>
                  <Reason entry={entry} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {more <= 0 ? null : <p class="faint">and {formatCount(more)} more</p>}
    </section>
  );
}

function Reason({ entry: { text, kind } }: { readonly entry: Entry }) {
  if (kind === "address") return null;
  if (kind !== "network") return <>{NOT_LOOKED_UP[kind]}</>;
  const [address = "", length = ""] = text.split("/");
  return (
    <>
      a network: <a href={networkPath(address, length)}>its addresses</a>
    </>
  );
}
