/** Under this tag rollups have the observations of attacks: see {@link isAttack}. No tag of the catalogue has this id. */
export const ATTACK_TAG_ID = "00000000-0000-0000-0000-000000000001";

/** An attack, among the severities that sightings have. */
export const ATTACK = 7;

/** The part of an observation that tells an attack from a scan. */
export type Interaction = {
  readonly transport?: string | undefined;
  readonly login_attempts?: number | undefined;
  readonly credentials?: readonly unknown[] | undefined;
  readonly commands?: readonly unknown[] | undefined;
  readonly urls?: readonly unknown[] | undefined;
  readonly payload_sha256?: readonly unknown[] | undefined;
};

/**
 * Whether the sensor saw a login, a command, a download or a payload over TCP, which needs an address that receives the
 * answers, so it cannot be forged. A packet, UDP and a request are none. The views of the rollups and `IS_ATTACK` have
 * the same rule.
 */
export function isAttack({ transport, login_attempts = 0, ...said }: Interaction): boolean {
  const lists = [said.credentials, said.commands, said.urls, said.payload_sha256];
  return transport === "tcp" && (login_attempts > 0 || lists.some((list) => list !== undefined && list.length > 0));
}
