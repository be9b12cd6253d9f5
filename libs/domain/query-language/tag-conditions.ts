import type { Tag } from "../tags/tag.ts";
import { matchesPattern } from "./pattern.ts";
import type { Condition } from "./query.ts";

type NamedTag = Pick<Tag, "id" | "slug" | "name" | "cves">;

/** The tags that a condition on `tags` or `cve` means: by id, slug, name, a pattern of slug or name, or CVE. */
export function tagsOf(condition: Condition, tags: readonly NamedTag[]): readonly NamedTag[] {
  if (condition.type !== "equals" && condition.type !== "matches") return [];
  const isMatch =
    condition.type === "equals"
      ? (text: string) => text.toLowerCase() === condition.text
      : (text: string) => matchesPattern(condition.pattern, text.toLowerCase());
  switch (condition.field) {
    case "tag":
      return tags.filter(
        ({ id, slug, name }) => isMatch(slug) || isMatch(name) || (condition.type === "equals" && isMatch(id)),
      );
    case "cve":
      return tags.filter(({ cves }) => cves.some(isMatch));
    default:
      return [];
  }
}
