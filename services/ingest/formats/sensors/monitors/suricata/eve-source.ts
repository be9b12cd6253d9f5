import { isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { at, type Fields, portAt, textAt } from "../../../fields.ts";
import type { DecodeOptions, IgnoredReason } from "../../../format.ts";
import { icmpAnswer } from "../icmp.ts";
import { ACK, isTcpAnswer, SYN } from "../tcp-flags.ts";

/** The side of a record's addresses. */
export type Side = "src" | "dest";

/** Records without a source, and those that only repeat packets or fields of other events. */
const WITHOUT_SOURCE: ReadonlyMap<string, IgnoredReason> = new Map([
  ["stats", "about-sensor"],
  ["engine", "about-sensor"],
  ["arp", "no-behaviour"],
  ["packet", "no-behaviour"],
  ["frame", "no-behaviour"],
]);
/** Their source is whoever sent the packet or the file, which in an answer is the server. */
const BY_PACKET = new Set(["alert", "anomaly", "fileinfo", "drop"]);
/** Written with the packet that completed a request and its answer: the source may be the server. */
const SERVER_PORTS: ReadonlyMap<string, number> = new Map(
  Object.entries({ krb5: 88, ldap: 389, mqtt: 1883, pgsql: 5432, rdp: 3389, rfb: 5900, smb: 445 }),
);
/** A client of the sensor's own gets its port from here on; servers listen below. */
const FIRST_EPHEMERAL_PORT = 32_768;
const FIRST_UNRESERVED_PORT = 1_024;

/** Which side of a record's addresses is the source, or why none is. */
export function sourceSide(record: Fields, event: string, options: DecodeOptions): Side | IgnoredReason {
  const without = WITHOUT_SOURCE.get(event) ?? packetAnswer(record, event);
  if (without !== undefined) return without;
  const source = textAt(record, "src_ip");
  const destination = textAt(record, "dest_ip");
  const client = statedClient(record, event, source);
  if (client !== undefined) return isOwn(client === "src" ? source : destination, options) ? "own-traffic" : client;
  const sourcePort = portAt(record, "src_port") ?? 0;
  const destinationPort = portAt(record, "dest_port") ?? 0;
  if (event === "netflow" && isServersHalf(record, sourcePort, destinationPort)) return "answer";
  if (!isOwn(source, options)) {
    const isAnswerToOwn =
      BY_PACKET.has(event) && sourcePort < FIRST_UNRESERVED_PORT && destinationPort >= FIRST_EPHEMERAL_PORT;
    if (isAnswerToOwn && sourcePort > 0) return isOwn(destination, options) ? "own-traffic" : "answer";
    return "src";
  }
  const isServer = sourcePort > 0 && sourcePort < FIRST_EPHEMERAL_PORT && sourcePort !== 53 && event !== "dns";
  return isServer && !isOwn(destination, options) && event !== "http" && event !== "tls" ? "dest" : "own-traffic";
}

function isOwn(address: string | undefined, { isOwnAddress }: DecodeOptions): boolean {
  return address !== undefined && (isOwnAddress(address) || (/^[\d.]+$/.test(address) && !isRoutableIpv4(address)));
}

/** The side that began the flow, where the record says it. */
function statedClient(record: Fields, event: string, source: string | undefined): Side | undefined {
  // Since version 7 an alert names who opened the flow.
  const opener = "flow" in record ? textAt(record, "flow.src_ip") : undefined;
  if (opener !== undefined) return opener === source ? "src" : "dest";
  const direction = textAt(record, "direction");
  if (direction === "to_server") return "src";
  if (direction === "to_client") return "dest";
  const serverPort = SERVER_PORTS.get(event);
  if (serverPort === undefined) return undefined;
  const [sourcePort, destinationPort] = [portAt(record, "src_port"), portAt(record, "dest_port")];
  return sourcePort === serverPort && destinationPort !== serverPort ? "dest" : undefined;
}

/** Why a record's packets or message are an answer, whoever sent them. */
function packetAnswer(record: Fields, event: string): IgnoredReason | undefined {
  if (record.proto === "ICMP") return icmpAnswer(portAt(record, "icmp_type"));
  if (event === "flow" || event === "netflow") {
    return record.proto === "TCP" && isAnsweringFlow(record, event) ? "answer" : undefined;
  }
  return isResponse(record, event) ? "answer" : undefined;
}

/** The flags of the side that began the flow are 00 where Suricata saw no SYN of it. */
function isAnsweringFlow(record: Fields, event: string): boolean {
  const isHalf = event === "netflow";
  const text = textAt(record, isHalf ? "tcp.tcp_flags" : "tcp.tcp_flags_ts");
  if (text === undefined) return false;
  const flags = Number.parseInt(text, 16);
  if (flags !== 0) return isTcpAnswer(flags, Number(at(record, isHalf ? "netflow.pkts" : "flow.pkts_toserver")));
  const [sourcePort, destinationPort] = [portAt(record, "src_port") ?? 0, portAt(record, "dest_port") ?? 0];
  return sourcePort > 0 && sourcePort < FIRST_UNRESERVED_PORT && destinationPort >= FIRST_UNRESERVED_PORT;
}

/** Netflow events do not say who began: a half that goes from a service's port to a client's is the server's. */
function isServersHalf(record: Fields, sourcePort: number, destinationPort: number): boolean {
  const flags = Number.parseInt(textAt(record, "tcp.tcp_flags") ?? "0", 16);
  if ((flags & SYN) !== 0 && (flags & ACK) === 0) return false;
  if (sourcePort === 0) return false;
  return sourcePort < FIRST_UNRESERVED_PORT
    ? destinationPort >= FIRST_UNRESERVED_PORT
    : sourcePort < FIRST_EPHEMERAL_PORT && destinationPort >= FIRST_EPHEMERAL_PORT;
}

const has = (record: Fields, ...paths: readonly string[]) => paths.some((path) => at(record, path) !== undefined);

/** Whether an event of a protocol holds nothing but what a server said. */
function isResponse(record: Fields, event: string): boolean {
  switch (event) {
    case "dns":
    case "mdns":
    case "llmnr": {
      const type = textAt(record, `${event}.type`);
      return type === "answer" || type === "response" || at(record, `${event}.qr`) === true;
    }
    case "quic":
      return !has(record, "quic.ja3", "quic.ja4", "quic.sni", "quic.ua") && isOfServer(record, 443, "quic.ja3s");
    case "tls":
      return !has(record, "tls.ja3", "tls.ja4", "tls.sni") && isOfServer(record, 443);
    case "ssh":
      return !has(record, "ssh.client") && isOfServer(record, 22);
    case "sip":
      return has(record, "sip.code") && !has(record, "sip.method");
    case "snmp":
      return textAt(record, "snmp.pdu_type") === "response";
    case "ike":
    case "ikev2":
      return textAt(record, `${event}.role`) === "responder";
    case "dhcp":
      return textAt(record, "dhcp.type") === "reply";
    case "dnp3":
      return textAt(record, "dnp3.type")?.endsWith("response") === true;
    case "bittorrent_dht":
      return has(record, "bittorrent_dht.response") && !has(record, "bittorrent_dht.request");
    case "tftp":
      return ["data", "ack", "error"].includes(textAt(record, "tftp.packet") ?? "");
    default:
      return false;
  }
}

/** Whether the source speaks from the service's port, or says what only servers say. */
function isOfServer(record: Fields, port: number, serversMember?: string): boolean {
  if (serversMember !== undefined && has(record, serversMember)) return true;
  return portAt(record, "src_port") === port && portAt(record, "dest_port") !== port;
}
