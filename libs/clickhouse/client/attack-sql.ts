import { ATTACK_COUNTS, ATTACK_LISTS, ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";

/** SQL: the tag under which rollups have attacks. */
export const ATTACK_TAG = `toUUID('${ATTACK_TAG_ID}')`;

/** SQL: whether an observation is an attack, as `isAttack` has it. */
export const IS_ATTACK = `(established AND (${[
  ...ATTACK_COUNTS.map((name) => `${name} > 0`),
  ...ATTACK_LISTS.map((name) => `notEmpty(${name})`),
].join(" OR ")}))`;

/** SQL for `severityOf`, of conditions and of the worst severity of the tags, -1 without tags. */
export function severitySql(worst: string, isActor: string, hasAttacked: string): string {
  return `multiIf(${isActor} AND ${hasAttacked}, greatest(${worst}, 2), ${isActor}, 0,
        ${hasAttacked} OR ${worst} < 0, greatest(${worst}, 1), ${worst})`;
}
