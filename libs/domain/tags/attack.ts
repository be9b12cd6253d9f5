import { MEMBERS, namesOf } from "../observation/members.ts";

/** Under this tag rollups have the observations of attacks: see {@link isAttack}. No tag of the catalogue has this id. */
export const ATTACK_TAG_ID = "00000000-0000-0000-0000-000000000001";

/** An attack, among the severities that sightings have. */
export const ATTACK = 7;
/** Where severities are numbers alone, the bit beside that says that the address attacked. */
export const ATTACKED = 8;

/** The members any of which is an attack, if the source was in contact: numbers above 0, and lists that are not empty. */
export const ATTACK_COUNTS = namesOf(MEMBERS, "count").filter((name) => MEMBERS[name].isAttack);
export const ATTACK_LISTS = namesOf(MEMBERS, "logins", "texts", "digests").filter((name) => MEMBERS[name].isAttack);

/** The part of an observation that tells an attack from a scan. */
export type Interaction = { readonly established?: boolean | undefined } & {
  readonly [Name in (typeof ATTACK_COUNTS)[number]]?: number | undefined;
} & { readonly [Name in (typeof ATTACK_LISTS)[number]]?: readonly unknown[] | undefined };

/**
 * Whether the sensor saw a login, a command, a download or a payload of an address that was proven to be in contact:
 * see `provesContact`. What could be forged and a mere request are none. The views of the rollups and `IS_ATTACK` have
 * the same rule.
 * @param said with `established` as it is stored.
 */
export function isAttack(said: Interaction): boolean {
  if (said.established !== true) return false;
  return (
    ATTACK_COUNTS.some((name) => (said[name] ?? 0) > 0) || ATTACK_LISTS.some((name) => (said[name]?.length ?? 0) > 0)
  );
}
