import type { Tag } from "../../api/operations.ts";
import { tagPath } from "../../routing/paths.ts";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { TableHead } from "../../shell/table-head.tsx";
import { formatChange, formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { TagSparkline } from "./tag-sparkline.tsx";

/** Addresses of the last day and of the day before, by the tag's id; tags without any are missing. */
export type Counts = ReadonlyMap<string, { readonly now: number; readonly before: number }>;

export function TagTable({ tags, counts }: { readonly tags: readonly Tag[]; readonly counts: Counts | undefined }) {
  return (
    <section>
      <ScrollRegion label="Tags">
        <table class="catalogue">
          <caption class="hidden">The tags that fit, the most active first</caption>
          <TableHead
            headings={[
              "Tag",
              "Intention",
              { number: "Addresses" },
              { number: "Change" },
              "Last days",
              "Category",
              "CVE",
            ]}
          />
          <tbody>
            {tags.map((tag) => (
              <TagRow key={tag.id} tag={tag} count={counts && (counts.get(tag.id) ?? { now: 0, before: 0 })} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

type TagRowProps = { readonly tag: Tag; readonly count: { readonly now: number; readonly before: number } | undefined };

function TagRow({ tag: { id, slug, name, intention, category, cves }, count }: TagRowProps) {
  return (
    <tr data-slug={slug}>
      <th scope="row">
        <a href={tagPath(slug)}>
          <Hostile text={name} />
        </a>
      </th>
      <td>
        <Badge verdict={intention} />
      </td>
      <td class="number">{count === undefined ? "" : formatCount(count.now)}</td>
      <td class="number">{count === undefined ? "" : formatChange(count.now, count.before)}</td>
      <td>
        {count === undefined ? null : <TagSparkline id={id} name={name} isActive={count.now + count.before > 0} />}
      </td>
      <td>
        <Hostile text={category} />
      </td>
      <td class="cves">
        {cves.slice(0, 2).join(", ")}
        {cves.length > 2 ? ` and ${cves.length - 2} more` : ""}
      </td>
    </tr>
  );
}
