import { isIPv6 } from "node:net";
import { ipv4ToNumber, isIpv4, lastAddress, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { mappedIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { ORIGINS, SCOPE, TYPE } from "./decisions.ts";
import { FILTERS } from "./operations.ts";

/** The addresses whose decisions a bouncer wants, both ends inclusive; a `last` below `first` is none. */
export type DecisionFilter = { readonly first: number; readonly last: number };

const ALL: DecisionFilter = { first: 0, last: 0xffffffff };
const NONE: DecisionFilter = { first: 1, last: 0 };

/**
 * What the parameters choose of a feed's decisions, all of which are alike but for their addresses.
 * @throws HttpError 400 for an `ip` or `range` that is no address.
 */
export function readFilter(query: RawQuery, feedName: string): DecisionFilter {
  const isAmong = (values: readonly string[], wanted: string | undefined) =>
    wanted === undefined || values.some((value) => listOf(wanted).includes(value.toLowerCase()));
  const containing = readParameter(query, FILTERS.scenariosContaining);
  const notContaining = readParameter(query, FILTERS.scenariosNotContaining);
  const contains = (text: string) => listOf(text).some((part) => part !== "" && feedName.includes(part));
  const ranges = [rangeOfIp(query), rangeOfNetwork(query), rangeOfValue(query)];
  const isWanted =
    isAmong([SCOPE], readParameter(query, FILTERS.scopes)) &&
    isAmong([SCOPE], readParameter(query, FILTERS.scope)) &&
    isAmong([TYPE], readParameter(query, FILTERS.type)) &&
    isAmong(ORIGINS, readParameter(query, FILTERS.origins)) &&
    (containing === undefined || contains(containing)) &&
    (notContaining === undefined || !contains(notContaining));
  if (!isWanted) return NONE;
  return {
    first: Math.max(...ranges.map(({ first }) => first)),
    last: Math.min(...ranges.map(({ last }) => last)),
  };
}

/** Whether a filter leaves every decision of a feed. */
export const isEverything = ({ first, last }: DecisionFilter): boolean => first === ALL.first && last === ALL.last;

/** Those of some addresses, in ascending order, that a filter leaves. */
export function narrow(addresses: Uint32Array, { first, last }: DecisionFilter): Uint32Array {
  return addresses.subarray(countBelow(addresses, first), countBelow(addresses, last + 1));
}

/** How many of some numbers, in ascending order, are smaller than one. */
function countBelow(numbers: Uint32Array, limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

const listOf = (text: string) => text.split(",").map((part) => part.trim().toLowerCase());

/** The range of one address; none for a text that is no IPv4 address in either spelling. */
function rangeOfAddress(text: string): DecisionFilter {
  const ipv4 = isIpv4(text) ? text : mappedIpv4(text);
  return ipv4 === undefined ? NONE : { first: ipv4ToNumber(ipv4), last: ipv4ToNumber(ipv4) };
}

function rangeOfIp(query: RawQuery): DecisionFilter {
  const ip = readParameter(query, FILTERS.ip);
  if (ip === undefined) return ALL;
  if (!isIpv4(ip) && !isIPv6(ip)) throw new HttpError(400, "Invalid parameter: ip takes an address");
  return rangeOfAddress(ip);
}

function rangeOfValue(query: RawQuery): DecisionFilter {
  const value = readParameter(query, FILTERS.value);
  return value === undefined ? ALL : rangeOfAddress(value);
}

/** Decisions that contain all of a network, or with `contains=false` those within it. */
function rangeOfNetwork(query: RawQuery): DecisionFilter {
  const text = readParameter(query, FILTERS.range);
  const contains = readParameter(query, FILTERS.contains);
  if (text === undefined) return ALL;
  const [address = "", bits = "128"] = text.split("/");
  const mapped = mappedIpv4(address);
  if (mapped === undefined && isIPv6(address)) return NONE;
  const network = parseNetwork(mapped === undefined ? text : `${mapped}/${Number(bits) - 96}`);
  if (typeof network === "string") throw new HttpError(400, `Invalid parameter: range takes a network (${network})`);
  if (contains && network.length < 32) return NONE;
  return { first: network.first, last: lastAddress(network) };
}
