import { type Fields, portAt, textAt } from "../../../fields.ts";
import type { DecodeOptions, IgnoredReason } from "../../../format.ts";
import { icmpAnswer } from "../icmp.ts";

/** Weirds of packets that answer something which Zeek never saw. */
const ANSWERING_WEIRDS = new Set([
  "connection_originator_SYN_ack",
  "dns_unmatched_reply",
  "spontaneous_FIN",
  "spontaneous_RST",
  "unmatched_HTTP_reply",
  "unsolicited_SYN_response",
]);

/** Why a record of Zeek is no contact that its source began; undefined when it may be one. */
export function zeekAnswer(
  record: Fields,
  log: string | undefined,
  source: string | undefined,
  { isOwnAddress }: DecodeOptions,
): IgnoredReason | undefined {
  if (source !== undefined && isOwnAddress(source)) return "own-traffic";
  if (isTrue(record.local_orig)) return "own-traffic";
  if (log === "weird") return ANSWERING_WEIRDS.has(textAt(record, "name") ?? "") ? "answer" : undefined;
  if (log !== "conn") return undefined;
  // For ICMP the ports are type and code; the types of ICMPv6 are others.
  if (textAt(record, "proto") === "icmp") {
    return source?.includes(":") ? undefined : icmpAnswer(portAt(record, "id.orig_p"));
  }
  return isAnswer(textAt(record, "conn_state"), textAt(record, "history")) ? "answer" : undefined;
}

/**
 * Whether a connection's originator sent nothing, or only a SYN-ACK, RST or FIN: the packets that Zeek saw answer
 * somebody else's. In a history, capitals are the originator's packets and `^` says that Zeek turned the two sides.
 */
export function isAnswer(state: string | undefined, history: string | undefined): boolean {
  const began = history?.replaceAll(/[^A-Z]/g, "");
  if (began === undefined || history === "") return state === "SHR" || state === "RSTRH";
  if (began.includes("S") || began.includes("D")) return false;
  return began === "" || /[HRF]/.test(began);
}

/** JSON has true, tab-separated logs have T. */
const isTrue = (value: unknown) => value === true || value === "T" || value === "true";
