import type { Tag } from "../tags/tag.ts";
import { matchesPattern } from "./pattern.ts";
import type { Condition, Query } from "./query.ts";

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

/** What to tell of conditions on tags and CVEs that the catalogue does not have: nothing can match them. */
export function warnOfUnknownTags(query: Query, tags: readonly NamedTag[]): readonly string[] {
  const warnings = conditionsOf(query).flatMap((condition) => {
    if (condition.type !== "equals" || tagsOf(condition, tags).length > 0) return [];
    const shown = JSON.stringify(condition.text.slice(0, 128));
    if (condition.field === "tag") return [`no tag has the name, slug or id ${shown}`];
    return condition.field === "cve" ? [`no tag names the CVE ${shown}`] : [];
  });
  return [...new Set(warnings)];
}

function conditionsOf(query: Query): readonly Condition[] {
  switch (query.type) {
    case "and":
    case "or":
      return query.of.flatMap(conditionsOf);
    case "not":
      return conditionsOf(query.of);
    default:
      return [query];
  }
}
