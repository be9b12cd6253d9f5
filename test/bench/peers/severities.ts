import { INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { World } from "../world.ts";

/** SQL: a map from a tag's id to its severity. Raw observations know nothing of the catalogue. */
export function severitiesSql({ tags }: Pick<World, "tags">): string {
  const entries = tags.map(({ id, intention }) => `toUUID('${id}'), toInt8(${INTENTIONS.indexOf(intention)})`);
  return `map(${entries.join(", ")})`;
}

/** SQL: the worst severity of an observation's tags; unknown without any. */
export const WORST = "if(empty(tags), toInt8(1), arrayMax(arrayMap(tag -> severities[tag], tags)))";
export const GLOBAL = "dataset = 'global' AND workspace_id = ''";

/** Their name by a severity. */
export function classificationOf(severity: number): string {
  return INTENTIONS[severity] ?? "unknown";
}
