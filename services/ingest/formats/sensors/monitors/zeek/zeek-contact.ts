import { type Fields, textAt } from "../../../fields.ts";

/** The states of connections that Zeek calls established: by the SYN-ACK alone, whether or not it was answered. */
const ESTABLISHED = new Set(["SF", "S1", "S2", "S3", "RSTO", "RSTR"]);

/** What a protocol's log has once its server has answered. */
const SERVER_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  dns: ["rcode"],
  ftp: ["reply_code"],
  http: ["status_code"],
  kerberos: ["success"],
  ldap: ["result"],
  ldap_search: ["result"],
  modbus: ["exception"],
  mqtt_connect: ["connect_status"],
  mysql: ["success"],
  ntlm: ["success"],
  postgresql: ["success"],
  rdp: ["result", "security_protocol"],
  redis: ["success"],
  rfb: ["server_major_version"],
  sip: ["status_code"],
  smtp: ["last_reply"],
  socks: ["status"],
  ssh: ["server"],
  ssl: ["cipher", "version"],
};

/**
 * Whether a record over TCP proves that both ends of its connection receive what is sent to them. A request alone does
 * not: Zeek reads also what stands in a SYN, and compares no acknowledgement numbers.
 */
export function zeekContact(record: Fields, log: string | undefined): boolean {
  if (log === "conn") return isCompletedHandshake(textAt(record, "conn_state"), textAt(record, "history"));
  const members = log !== undefined && Object.hasOwn(SERVER_MEMBERS, log) ? SERVER_MEMBERS[log] : undefined;
  return members?.some((member) => isGiven(record[member])) === true;
}

/** Tab-separated logs have `-` for nothing. */
const isGiven = (value: unknown) => value !== undefined && value !== null && value !== "" && value !== "-";

/**
 * Whether the handshake was completed, as far as a history says it: the responder sent data or closed, which it does in no
 * connection that is half open; or the originator acknowledged the SYN-ACK, and no reset followed. A reset before anything
 * else of the responder is what a wrong acknowledgement gets, of somebody who never saw the SYN-ACK.
 */
export function isCompletedHandshake(state: string | undefined, history: string | undefined): boolean {
  if (state === undefined || !ESTABLISHED.has(state)) return false;
  if (history === undefined || history === "") return true;
  const [, afterAnswer] = /h(.*)$/s.exec(history) ?? [];
  if (afterAnswer === undefined) return false;
  return /[df]/.test(afterAnswer) || /A(?:[^r]*$|[^r]*a)/.test(afterAnswer);
}
