import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { Feed } from "../lists/search-feed.ts";

const ORIGIN = "noisefloor";
const SCOPE = "Ip";

export type Decision = {
  readonly id: number;
  readonly origin: typeof ORIGIN;
  readonly scenario: string;
  readonly scope: typeof SCOPE;
  readonly type: "ban";
  readonly value: string;
  readonly duration: string;
};

/** A decision of CrowdSec about one address. Bouncers read a range as its first address, so there are none. */
export function toDecision(address: number, { name, ttlHours }: Pick<Feed, "name" | "ttlHours">): Decision {
  return {
    id: address,
    origin: ORIGIN,
    scenario: name,
    scope: SCOPE,
    type: "ban",
    value: numberToIpv4(address),
    // Go's durations have no days: bouncers read "1d" as four hours.
    duration: `${ttlHours}h0m0s`,
  };
}

/** Which decisions a bouncer wants, as lists with commas; undefined where it does not say. */
export type DecisionFilter = {
  readonly scopes: string | undefined;
  readonly origins: string | undefined;
  readonly scenariosContaining: string | undefined;
  readonly scenariosNotContaining: string | undefined;
};

const listOf = (text: string) => text.split(",").map((part) => part.trim().toLowerCase());

/** Whether a bouncer wants the decisions of a feed, all of which are alike. */
export function wantsFeed(name: string, filter: DecisionFilter): boolean {
  const { scopes, origins, scenariosContaining, scenariosNotContaining } = filter;
  const isAmong = (value: string, text: string | undefined) =>
    text === undefined || listOf(text).includes(value.toLowerCase());
  const contains = (text: string) => listOf(text).some((part) => part !== "" && name.includes(part));
  return (
    isAmong(SCOPE, scopes) &&
    isAmong(ORIGIN, origins) &&
    (scenariosContaining === undefined || contains(scenariosContaining)) &&
    (scenariosNotContaining === undefined || !contains(scenariosNotContaining))
  );
}

/** Parts of the addresses that are prolonged at different times, so that no answer has all of them. */
const SLOTS = 64;
const HASH_SHIFT = 32 - Math.log2(SLOTS);
const slotOf = (address: number) => Math.imul(address, 0x9e3779b1) >>> HASH_SHIFT;

/** How long one part's turn lasts: each address has one in a quarter of its decision's duration. */
const turnMs = (ttlHours: number) => (ttlHours * HOUR_MS) / 4 / SLOTS;

/** The number of the turn at a time, in milliseconds since 1970 UTC. */
export const turnAt = (time: number, ttlHours: number): number => Math.floor(time / turnMs(ttlHours));

/** The addresses whose turn came between two answers: their decisions have to be prolonged. */
export function dueAddresses(addresses: Uint32Array, turns: { readonly after: number; readonly to: number }) {
  const count = turns.to - turns.after;
  if (count <= 0) return new Uint32Array();
  if (count >= SLOTS) return addresses;
  return addresses.filter((address) => (((slotOf(address) - turns.after - 1) % SLOTS) + SLOTS) % SLOTS < count);
}
