import type { TagSummary } from "../../api/operations.ts";
import { tagPath } from "../../routing/paths.ts";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { TableHead } from "../../shell/table-head.tsx";
import { formatChange, formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

export function ActiveTags({ tags }: TagSummary) {
  if (tags.length === 0) return <p class="empty">No tag was active in this period.</p>;
  return (
    <ScrollRegion label="Most active tags">
      <table>
        <caption class="hidden">Tags with the most addresses, and their change against the period before</caption>
        <TableHead
          headings={["Tag", "Intention", { number: "Addresses" }, { number: "Before" }, { number: "Change" }]}
        />
        <tbody>
          {tags.map(({ id, slug, name, intention, total_ips: now, previous_ips: before }) => (
            <tr key={id}>
              <th scope="row">
                <a href={tagPath(slug)}>
                  <Hostile text={name} />
                </a>
              </th>
              <td>
                <Badge verdict={intention} />
              </td>
              <td class="number">{formatCount(now)}</td>
              <td class="number faint">{formatCount(before)}</td>
              <td class="number">{formatChange(now, before)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
