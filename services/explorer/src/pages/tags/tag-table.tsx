import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import type { VNode } from "preact";
import type { Tag } from "../../api/operations.ts";
import { tagPath } from "../../routing/paths.ts";
import { Cves } from "../../search/cves.tsx";
import { Badge } from "../../shell/badge.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import type { Column } from "../../table/use-sorted.tsx";
import { formatChange, formatCount, growthOf } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { TagSparkline } from "./tag-sparkline.tsx";

const SHOWN_CVES = 2;

/** Addresses of the last day and of the day before, by the tag's id; tags without any in the last day are missing. */
export type Counts = ReadonlyMap<string, Count>;
/** Before is undefined when it is not known. */
type Count = { readonly now: number; readonly before: number | undefined };

/** The columns by which tags are sorted. */
export const columnsOf = (countOf: (id: string) => Count | undefined): readonly Column<Tag>[] => [
  { heading: "Tag", by: ({ name }) => name },
  { heading: "Intention", by: ({ intention }) => WORST_FIRST.indexOf(intention) },
  { heading: { number: "Addresses" }, by: ({ id }) => countOf(id)?.now },
  { heading: { number: "Change" }, by: ({ id }) => growthOf(countOf(id)?.now, countOf(id)?.before) },
  { heading: "Last days" },
  { heading: "Category", by: ({ category }) => category },
  { heading: "CVE", by: ({ cves }) => cves[0] },
];

type TagTableProps = {
  readonly tags: readonly Tag[];
  readonly countOf: (id: string) => Count | undefined;
  readonly head: VNode;
};

export function TagTable({ tags, countOf, head }: TagTableProps) {
  return (
    <section>
      <ScrollRegion label="Tags">
        <table class="catalogue">
          <caption class="hidden">The tags that fit the filters</caption>
          {head}
          <tbody>
            {tags.map((tag) => (
              <TagRow key={tag.id} tag={tag} count={countOf(tag.id)} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

type TagRowProps = { readonly tag: Tag; readonly count: Count | undefined };

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
      <td class="number">{count === undefined || count.now === 0 ? "" : formatChange(count.now, count.before)}</td>
      <td>{count === undefined ? null : <TagSparkline id={id} name={name} isActive={count.now > 0} />}</td>
      <td>
        <Hostile text={category} />
      </td>
      <td class="cves">
        <Cves cves={cves.slice(0, SHOWN_CVES)} />
        {cves.length > SHOWN_CVES ? ` and ${cves.length - SHOWN_CVES} more` : ""}
      </td>
    </tr>
  );
}
