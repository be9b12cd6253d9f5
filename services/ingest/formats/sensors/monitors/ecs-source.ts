import { at, type Fields, portAt, textAt, textsAt } from "../../fields.ts";
import type { DecodeOptions, IgnoredReason } from "../../format.ts";
import { icmpAnswer } from "./icmp.ts";
import { ACK, FIN, isTcpAnswer, PSH, RST, SYN, URG } from "./tcp-flags.ts";
import { isAnswer } from "./zeek/zeek-answers.ts";

/** Directions in which the source is on our side. */
const OUTGOING = new Set(["outbound", "egress", "internal"]);
/** Where Elastic's packages keep the type of an ICMP message. */
const ICMP_TYPES = ["icmp.type", "iptables.icmp.type", "suricata.eve.icmp_type", "zeek.connection.icmp.type"];
const FLAG_BITS: ReadonlyMap<string, number> = new Map(
  Object.entries({ S: SYN, A: ACK, R: RST, F: FIN, P: PSH, U: URG }),
);

/** Why a record of ECS is no contact that its source began; undefined when it may be one. */
export function ecsAnswer(
  record: Fields,
  source: string | undefined,
  { isOwnAddress }: DecodeOptions,
): IgnoredReason | undefined {
  if (source !== undefined && isOwnAddress(source)) return "own-traffic";
  const direction = textAt(record, "network.direction")?.toLowerCase();
  if (direction !== undefined && OUTGOING.has(direction)) return "own-traffic";
  if (at(record, "zeek.connection.local_orig") === true) return "own-traffic";
  if (textAt(record, "network.transport")?.toLowerCase() === "icmp") return icmpAnswer(portAt(record, ...ICMP_TYPES));
  const flags = flagsOf(record);
  if (flags !== undefined && isTcpAnswer(flags)) return "answer";
  if (isDnsAnswer(record)) return "answer";
  const [state, history] = [textAt(record, "zeek.connection.state"), textAt(record, "zeek.connection.history")];
  return isAnswer(state, history) ? "answer" : undefined;
}

/** Packetbeat and Zeek put a question and its answer into one record, whose source is the client. */
function isDnsAnswer(record: Fields): boolean {
  const type = textAt(record, "suricata.eve.dns.type", "dns.type");
  const isAnswerType = type === "answer" || type === "response";
  return isAnswerType && portAt(record, "source.port") === 53 && portAt(record, "destination.port") !== 53;
}

/** The flags of the one packet that a packet filter logged: a list of names, or letters like `SA`. */
function flagsOf(record: Fields): number | undefined {
  const names = [
    ...textsAt(record, "iptables.tcp.flags"),
    ...textsAt(record, "pfsense.tcp.flags").flatMap((text) => [...text]),
  ];
  if (names.length === 0) return undefined;
  return names.reduce((flags, name) => flags | (FLAG_BITS.get(name.charAt(0).toUpperCase()) ?? 0), 0);
}
