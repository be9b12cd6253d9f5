import { addressesOf } from "../../api/feeds.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath } from "../../routing/paths.ts";
import { ValueLink } from "../../search/value-search.tsx";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { TableHead } from "../../shell/table-head.tsx";
import { formatCount, formatMinute } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

const SHOWN = 20;

/** What a feed lists: its first addresses, and of one of callbacks its first names. */
export function FirstAddresses({ name }: { readonly name: string }) {
  const first = useAnswer(addressesOf(name, SHOWN));
  return (
    <section aria-labelledby="addresses">
      <h2 id="addresses">What it lists</h2>
      <Loaded of={first} what="the addresses">
        {({ count, addresses, names }) =>
          count === 0 ? (
            <p class="empty">Nothing: consumers of this feed block nothing.</p>
          ) : (
            <>
              {names.length === 0 ? null : (
                <ul class="addresses" data-first-names>
                  {names.map((host) => (
                    <li key={host}>
                      <Hostile text={host} />
                    </li>
                  ))}
                </ul>
              )}
              <ScrollRegion label="Addresses of the feed">
                <table data-first-addresses>
                  <caption class="hidden">First addresses of the feed</caption>
                  <TableHead headings={["Address", "Verdict", "Last seen", "Tags", "Organization", "Country"]} />
                  <tbody>
                    {addresses.map(({ ip, classification, last_seen: last, tags, organization, country }) => (
                      <tr key={ip}>
                        <th scope="row">
                          <a href={addressPath(ip)}>{ip}</a>
                        </th>
                        <td>
                          <Badge verdict={classification} />
                        </td>
                        <td class="when">{formatMinute(last)}</td>
                        <td>
                          {tags.map((slug, index) => (
                            <span key={slug}>
                              {index === 0 ? "" : ", "}
                              <ValueLink field="tag" value={slug} />
                            </span>
                          ))}
                        </td>
                        <td>
                          <ValueLink field="organization" value={organization} />
                        </td>
                        <td>
                          <ValueLink field="country_code" value={country} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </ScrollRegion>
              {count > SHOWN ? <p class="faint hint">The first of {formatCount(count)}.</p> : null}
            </>
          )
        }
      </Loaded>
    </section>
  );
}
