import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { useRoute } from "preact-iso";
import type { NetworkAddresses } from "../../api/operations.ts";
import { networkOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { addressPath, newWatchPath, tagPath } from "../../routing/paths.ts";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { SearchLink } from "../../search/value-search.tsx";
import { Badge } from "../../shell/badge.tsx";
import { LimitChoice } from "../../shell/controls/limit-choice.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

/** How many addresses a page lists, each of which is a lookup. */
const LIMITS = ["25", "100", "1000"] as const;
const SHOWN_TAGS = 4;

/** `/networks/{ip}/{length}`: the addresses of a network that were seen. */
export function NetworkPage() {
  const { ip = "", length = "" } = useRoute().params;
  const name = `${ip}/${length}`;
  usePageTitle(name);
  const { values, set } = useParameters({ limit: "25" });
  const limit = oneOf(LIMITS, values.limit, "25");
  const network = useAnswer(isIpv4(ip) ? networkOf(ip, length, Number(limit)) : undefined);
  if (!isIpv4(ip)) {
    return (
      <>
        <h1>
          <Hostile text={name} />
        </h1>
        <p class="notice">This is not an IPv4 network. Write one with its length, like 192.175.48.0/24.</p>
      </>
    );
  }
  return (
    <>
      <h1 class="address">
        <Hostile text={network.data?.network ?? name} />
      </h1>
      <div class="bar-of-choices">
        <h2>Addresses seen scanning</h2>
        <SearchLink field="ip" value={name} />
        <a href={newWatchPath("network_seen", name)}>Watch this network</a>
        <LimitChoice limits={LIMITS} value={limit} onChoose={(chosen) => set({ limit: chosen })} />
      </div>
      <Loaded of={network} what="the addresses">
        {(data) => <Addresses {...data} />}
      </Loaded>
    </>
  );
}

const COLUMNS: readonly Column<NetworkAddresses["ips"][number]>[] = [
  { heading: "Address", by: ({ ip }) => ip },
  { heading: "Classification", by: ({ classification }) => WORST_FIRST.indexOf(classification) },
  { heading: "Last seen", by: ({ last_seen: last }) => last },
  { heading: "Tags", by: ({ tags }) => tags.length },
];

function Addresses({ ips, total_ips: total, truncated }: NetworkAddresses) {
  const { sorted, head } = useSorted(ips, COLUMNS);
  if (total === 0) return <p class="empty">These sensors have seen none of its addresses.</p>;
  return (
    <section>
      <p data-listed>
        {truncated
          ? `The first ${formatCount(ips.length)} of ${plural(total, "address", "addresses")}.`
          : `All ${plural(total, "address", "addresses")}.`}
      </p>
      <ScrollRegion label="Addresses">
        <table>
          <caption class="hidden">Addresses of the network that were seen scanning</caption>
          {head}
          <tbody>
            {sorted.map(({ ip, classification, last_seen: last, tags }) => (
              <tr key={ip}>
                <th scope="row">
                  <a href={addressPath(ip)}>{ip}</a>
                </th>
                <td>
                  <Badge verdict={classification} />
                </td>
                <td class="when">{formatMinute(last)}</td>
                <td class="names">
                  <Tags slugs={tags} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

function Tags({ slugs }: { readonly slugs: readonly string[] }) {
  const more = slugs.length - SHOWN_TAGS;
  return (
    <>
      {slugs.slice(0, SHOWN_TAGS).map((slug, index) => (
        <span key={slug}>
          {index === 0 ? "" : ", "}
          <a href={tagPath(slug)}>{slug}</a>
        </span>
      ))}
      {more > 0 ? ` and ${more} more` : ""}
    </>
  );
}
