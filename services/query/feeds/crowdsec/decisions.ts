import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";

/**
 * That with which decisions begin, and those that prolong them in turn for bouncers which ignore a decision of an origin
 * that they have, also when it has ended, until they store another. One that comes again has been forgotten by then.
 */
export const ORIGINS = [
  "noisefloor",
  "noisefloor-2",
  "noisefloor-3",
  "noisefloor-4",
  "noisefloor-5",
  "noisefloor-6",
  "noisefloor-7",
  "noisefloor-8",
  "noisefloor-9",
  "noisefloor-10",
] as const;
export type Origin = (typeof ORIGINS)[number];
export const SCOPE = "Ip";
export const TYPE = "ban";

export type Decision = {
  readonly id: number;
  readonly origin: Origin;
  readonly scenario: string;
  readonly scope: typeof SCOPE;
  readonly type: typeof TYPE;
  readonly value: string;
  readonly duration: string;
};

/** A decision of CrowdSec about one address. Bouncers read a range as its first address, so there are none. */
export function toDecision(
  address: number,
  { name, ttlHours }: Pick<Feed, "name" | "ttlHours">,
  origin: Origin = ORIGINS[0],
): Decision {
  return {
    id: address,
    origin,
    scenario: name,
    scope: SCOPE,
    type: TYPE,
    value: numberToIpv4(address),
    // Go's durations have no days: bouncers read "1d" as four hours.
    duration: `${ttlHours}h0m0s`,
  };
}

/** Parts of the addresses that are prolonged at different times, so that no answer has all of them. */
const SLOTS = 64;
const HASH_SHIFT = 32 - Math.log2(SLOTS);
const slotOf = (address: number) => Math.imul(address, 0x9e3779b1) >>> HASH_SHIFT;

const ROUNDS = 4;

/** How long one part's turn lasts: each address has {@link ROUNDS} in its decision's duration. */
const turnMs = (ttlHours: number) => (ttlHours * HOUR_MS) / ROUNDS / SLOTS;

/** The number of the turn at a time, in milliseconds since 1970 UTC. */
export const turnAt = (time: number, ttlHours: number): number => Math.floor(time / turnMs(ttlHours));

/** The origin with which an address is prolonged in its last turn up to one. */
export function originAt(address: number, turn: number): Origin {
  const round = Math.floor((turn - slotOf(address)) / SLOTS);
  return ORIGINS[1 + (round % (ORIGINS.length - 1))] ?? ORIGINS[0];
}

/** The addresses whose turn came between two answers: their decisions have to be prolonged. */
export function dueAddresses(addresses: Uint32Array, turns: { readonly after: number; readonly to: number }) {
  const count = turns.to - turns.after;
  if (count <= 0) return new Uint32Array();
  if (count >= SLOTS) return addresses;
  return addresses.filter((address) => (((slotOf(address) - turns.after - 1) % SLOTS) + SLOTS) % SLOTS < count);
}
