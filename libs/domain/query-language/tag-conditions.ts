import type { Tag } from "../tags/tag.ts";
import type { Condition } from "./query.ts";
import { type ComparableText, comparable, type TextMatcher, textMatcher } from "./text-match.ts";

type NamedTag = Pick<Tag, "id" | "slug" | "name" | "cves">;

/** What conditions compare of a tag. */
export type ComparableTag = {
  readonly id: string;
  readonly slug: ComparableText;
  readonly name: ComparableText;
  readonly cves: readonly ComparableText[];
};

type ComparableTags = {
  readonly all: readonly ComparableTag[];
  /** Whole texts in lower case that a tag, or a CVE, may be called by. */
  readonly names: ReadonlySet<string>;
  readonly cves: ReadonlySet<string>;
};

const prepared = new WeakMap<readonly NamedTag[], ComparableTags>();

/** The tags of a catalogue as conditions compare them, prepared once for all queries until the catalogue changes. */
export function comparableTags(tags: readonly NamedTag[]): ComparableTags {
  const known = prepared.get(tags);
  if (known !== undefined) return known;
  const all = tags.map(({ id, slug, name, cves }) => ({
    id,
    slug: comparable(slug),
    name: comparable(name),
    cves: cves.map(comparable),
  }));
  const names = all.flatMap(({ id, slug, name }) => [id.toLowerCase(), slug.text, name.text]);
  const cves = all.flatMap((tag) => tag.cves.map(({ text }) => text));
  const made = { all, names: new Set(names), cves: new Set(cves) };
  prepared.set(tags, made);
  return made;
}

/** The tags that a condition on `tags` or `cve` means: by id, slug, name, a pattern of slug or name, or CVE. */
export function tagsOf(condition: Condition, tags: readonly NamedTag[]): readonly ComparableTag[] {
  if (condition.type !== "equals" && condition.type !== "matches") return [];
  const { all, names, cves } = comparableTags(tags);
  const isMatch: TextMatcher = textMatcher(condition);
  switch (condition.field) {
    case "tag":
      if (condition.type === "equals" && !names.has(condition.text)) return [];
      return all.filter(
        ({ id, slug, name }) =>
          isMatch(slug) || isMatch(name) || (condition.type === "equals" && id.toLowerCase() === condition.text),
      );
    case "cve":
      if (condition.type === "equals" && !cves.has(condition.text)) return [];
      return all.filter((tag) => tag.cves.some(isMatch));
    default:
      return [];
  }
}
