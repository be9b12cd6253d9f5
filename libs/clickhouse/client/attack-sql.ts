import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";

/** SQL: the tag under which rollups have attacks. */
export const ATTACK_TAG = `toUUID('${ATTACK_TAG_ID}')`;

/** SQL: whether an observation is an attack, as `isAttack` has it. */
export const IS_ATTACK = `(transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands)
      OR notEmpty(urls) OR notEmpty(payload_sha256)))`;

/** SQL for `severityOf`, of conditions and of the worst severity of the tags, -1 without tags. */
export function severitySql(worst: string, isActor: string, hasAttacked: string): string {
  return `multiIf(${isActor} AND ${hasAttacked}, greatest(${worst}, 2), ${isActor}, 0,
        ${hasAttacked} OR ${worst} < 0, greatest(${worst}, 1), ${worst})`;
}
