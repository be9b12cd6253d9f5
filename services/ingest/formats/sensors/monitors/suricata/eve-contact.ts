import { type Fields, isFields, textAt } from "../../../fields.ts";
import { ACK, FIN, PSH, SYN } from "../tcp-flags.ts";

/** What only a server says, by the member of an event that has it. */
const SERVER_MEMBERS: readonly (readonly [part: string, members: readonly string[]])[] = [
  ["dcerpc", ["response"]],
  ["ftp", ["completion_code", "reply"]],
  ["http", ["status"]],
  ["ldap", ["responses"]],
  ["mqtt", ["connack"]],
  ["pgsql", ["response"]],
  ["pop3", ["response"]],
  ["rfb", ["server_protocol_version"]],
  ["smb", ["status", "status_code"]],
  ["ssh", ["server"]],
  ["tls", ["ja3s", "subject"]],
];
const RDP_RESPONSES = new Set(["initial_response", "connect_response", "tls_handshake"]);

/**
 * Whether an event proves that both ends of its connection receive what is sent to them. A request alone does not: a
 * lone SYN with TCP Fast Open carries one, and Suricata logs it like any other.
 */
export function eveContact(record: Fields, event: string): boolean {
  if (record.proto !== "TCP") return false;
  if (event === "flow") return isEstablishedFlow(record);
  return SERVER_MEMBERS.some(([part, members]) => hasSome(record[part], members)) || isSpoken(record);
}

const hasSome = (part: unknown, members: readonly string[]) =>
  isFields(part) && members.some((member) => part[member] !== undefined);

/** Whether the server chose a version of TLS, or answered in RDP. */
function isSpoken({ tls, rdp }: Fields): boolean {
  if (isFields(tls)) return typeof tls.version === "string" && tls.version !== "UNDETERMINED";
  return isFields(rdp) && typeof rdp.event_type === "string" && RDP_RESPONSES.has(rdp.event_type);
}

/**
 * Whether a flow's handshake was completed. A FIN with any acknowledgement number makes Suricata call a flow
 * established, and flags are also those of packets that it refused: so either its TCP state has to say it, or the
 * server has to have sent data or closed, which it does in no connection that is half open.
 * @param prefix of its members, with the dot
 */
export function isEstablishedFlow(record: Fields, prefix = ""): boolean {
  const [state, tcpState] = [textAt(record, `${prefix}flow.state`), textAt(record, `${prefix}tcp.state`)];
  const isEstablished = state === "established" && (tcpState === undefined || tcpState === "established");
  const [client, server] = ["ts", "tc"].map((side) => textAt(record, `${prefix}tcp.tcp_flags_${side}`));
  if (client === undefined || server === undefined) return isEstablished;
  const [clientFlags, serverFlags] = [Number.parseInt(client, 16), Number.parseInt(server, 16)];
  // Without them it was picked up in the middle, by a packet that may be forged.
  const hasHandshake = [clientFlags, serverFlags].every((flags) => (flags & SYN) !== 0 && (flags & ACK) !== 0);
  return hasHandshake && (isEstablished || (state !== "new" && (serverFlags & (PSH | FIN)) !== 0));
}
