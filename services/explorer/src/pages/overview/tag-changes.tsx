import type { TagSummary } from "../../api/operations.ts";
import { tagPath } from "../../routing/paths.ts";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatChange, formatCount, growthOf } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

type Row = TagSummary["tags"][number];

const COLUMNS: readonly Column<Row>[] = [
  { heading: "Tag", by: ({ name }) => name },
  { heading: "Intention", by: ({ intention }) => intention },
  { heading: { number: "Addresses" }, by: ({ total_ips: now }) => now },
  { heading: { number: "Before" }, by: ({ previous_ips: before }) => before },
  { heading: { number: "Change" }, by: ({ total_ips: now, previous_ips: before }) => growthOf(now, before) },
];

type TagChangesProps = { readonly label: string; readonly tags: readonly Row[]; readonly whenEmpty: string };

/** Tags with their addresses, and the change against the period before. */
export function TagChanges({ label, tags, whenEmpty }: TagChangesProps) {
  const { sorted, head } = useSorted(tags, COLUMNS);
  if (tags.length === 0) return <p class="empty">{whenEmpty}</p>;
  return (
    <ScrollRegion label={label}>
      <table>
        <caption class="hidden">{label}, with their change against the period before</caption>
        {head}
        <tbody>
          {sorted.map(({ id, slug, name, intention, total_ips: now, previous_ips: before }) => (
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
              <td class="number faint">{before === undefined ? "" : formatCount(before)}</td>
              <td class="number">{formatChange(now, before)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
