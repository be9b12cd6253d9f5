import type { WireObservation } from "../observation/schema.ts";
import { ATTACK_COUNTS, ATTACK_LISTS } from "./attack.ts";

/**
 * Under this tag rollups have the observations that prove contact: see {@link provesContact}. No tag of the catalogue
 * has this id.
 */
export const CONTACT_TAG_ID = "00000000-0000-0000-0000-000000000002";

/** Proven contact, among the severities that sightings have. */
export const CONTACT = 6;

/**
 * What proves contact, the most telling first: what the source did, or a `connection` that was completed without more.
 */
export const PROOFS = ["login", "command", "download", "request", "tls", "ssh", "connection"] as const;
export type Proof = (typeof PROOFS)[number];

type Evidence = Partial<WireObservation>;

/**
 * Whether an observation proves that its source receives what is sent to it, so that its address is not forged: by a
 * completed TCP handshake. What the record says of that counts, else what only a connection can carry: a login, a
 * command, a request, a banner or a TLS hello.
 */
export function provesContact(said: Evidence): boolean {
  const { transport, established } = said;
  if (established === true) return transport === undefined || transport === "tcp";
  if (established === false || transport !== "tcp") return false;
  return (
    ATTACK_COUNTS.some((name) => (said[name] ?? 0) > 0) ||
    ATTACK_LISTS.some((name) => (said[name]?.length ?? 0) > 0) ||
    [said.http, said.tls, said.ssh].some(hasMember)
  );
}

/** A part without anything said proves nothing. */
function hasMember(part: object | undefined): boolean {
  if (part === undefined) return false;
  const values: readonly unknown[] = Object.values(part);
  for (const value of values) {
    if (value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0)) return true;
  }
  return false;
}
