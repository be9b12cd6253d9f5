import type { IgnoredReason } from "../../format.ts";

/** Unreachable, source quench, redirect, time exceeded, parameter problem: each quotes the packet that it answers. */
const ERRORS = new Set([3, 4, 5, 11, 12]);
/** Replies to an echo, timestamp, information, mask or extended echo request. */
const REPLIES = new Set([0, 14, 16, 18, 43]);

/** Why an ICMP message of IPv4 is no contact that its sender began; undefined when it is one, or the type is unknown. */
export function icmpAnswer(type: number | undefined): IgnoredReason | undefined {
  if (type === undefined) return undefined;
  if (ERRORS.has(type)) return "icmp-error";
  return REPLIES.has(type) ? "answer" : undefined;
}
