import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { World } from "../world.ts";

/** SQL: the worst severity of an observation's tags; unknown without any. Raw observations know no catalogue. */
export function worstSql({ tags }: Pick<World, "tags">): string {
  const ids = tags.map(({ id }) => `toUUID('${id}')`);
  const severities = tags.map(({ intention }) => `toInt8(${INTENTIONS.indexOf(intention)})`);
  const severity = `transform(tag, [${ids.join(",")}], [${severities.join(",")}], toInt8(-1))`;
  return `if(empty(tags), toInt8(1), arrayMax(arrayMap(tag -> ${severity}, tags)))`;
}

export const GLOBAL = "dataset = 'global' AND workspace_id = ''";

/** Their name by a severity. */
export function classificationOf(severity: number): string {
  return INTENTIONS[severity] ?? "unknown";
}
