import type { Tag } from "../../api/operations.ts";

export type TagFilter = {
  /** A part of the name or slug. */
  readonly name: string;
  readonly category: string;
  readonly intention: string;
  readonly cve: string;
};

/** All filters must fit; an empty one fits every tag. Upper and lower case are the same. */
export function filterTags<Filtered extends Pick<Tag, "name" | "slug" | "category" | "intention" | "cves">>(
  tags: readonly Filtered[],
  { name, category, intention, cve }: TagFilter,
): Filtered[] {
  const part = name.trim().toLowerCase();
  const wanted = cve.trim().toUpperCase();
  return tags.filter(
    (tag) =>
      (tag.name.toLowerCase().includes(part) || tag.slug.includes(part)) &&
      (category === "" || tag.category === category) &&
      (intention === "" || tag.intention === intention) &&
      (wanted === "" || tag.cves.some((one) => one.includes(wanted))),
  );
}
