import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Rejection } from "@noisefloor/domain/observation.ts";

/** The ids behind tag references, without repetition, or a rejection that names the first unknown one. */
export function resolveTags(catalogue: TagCatalogue, references: readonly string[]): readonly string[] | Rejection {
  const ids = new Set<string>();
  for (const reference of references) {
    const tag = catalogue.resolve(reference);
    if (tag === undefined) return { reason: "unknown-tag", detail: `tag "${reference}" is not in the catalogue` };
    ids.add(tag.id);
  }
  return [...ids];
}
