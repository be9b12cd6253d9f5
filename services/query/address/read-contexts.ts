import { isGlobalOnly, type Scope } from "@noisefloor/domain/access/scope.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { awaitedLater, oneAhead } from "../in-order.ts";
import type { AddressDetails } from "./details-query.ts";
import type { FindInMemory } from "./memory-lookup.ts";
import { detailsInParts, readDetailsOfFew, readDetailsOfMany } from "./read-details.ts";
import type { AddressRecord, AddressSummary } from "./records.ts";
import { type LookupDeps, lookUpMany } from "./store-lookup.ts";

/** Everything the service knows of an address in some scopes. */
export type AddressContext = AddressRecord & {
  /** Present when the address was observed. */
  readonly details?: AddressDetails;
};

/** Max addresses whose details are read while they are looked up: a page of a search, whose addresses were all seen. */
const MAX_CONCURRENT = 100;
/** Bounds the memory of a query. */
const ADDRESSES_PER_QUERY = 5_000;

/**
 * Reads the contexts of some addresses. The map has each of them; without scopes all contexts are empty.
 * @param withDetails false reads only noise, riot and classification.
 */
export async function readContexts(
  ips: readonly string[],
  scopes: readonly Scope[],
  withDetails: boolean,
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressContext>> {
  const contexts = new Map<string, AddressContext>();
  for await (const [each, context] of streamContexts(ips, scopes, withDetails, deps, signal))
    contexts.set(each, context);
  return contexts;
}

/** Details count only with the record that the address was seen, which another query has read. */
function toContext(record: AddressRecord | undefined, details: AddressDetails | undefined): AddressContext {
  return { ...record, ...(record?.noise === undefined || details === undefined ? {} : { details }) };
}

/** The same as a stream in the order of `ips`, for more addresses than fit into memory. */
export async function* streamContexts(
  ips: readonly string[],
  scopes: readonly Scope[],
  withDetails: boolean,
  deps: LookupDeps,
  signal: AbortSignal,
): AsyncGenerator<readonly [ip: string, context: AddressContext]> {
  if (scopes.length === 0) {
    for (const ip of ips) yield [ip, {}];
    return;
  }
  // The longer query first: it gets all threads.
  const early =
    withDetails && ips.length <= MAX_CONCURRENT ? awaitedLater(readDetailsOfFew(ips, scopes, deps, signal)) : undefined;
  const records = new Map<string, AddressRecord>();
  for (let start = 0; start < ips.length; start += ADDRESSES_PER_QUERY) {
    const batch = ips.slice(start, start + ADDRESSES_PER_QUERY);
    for (const [ip, record] of await lookUpMany(batch, scopes, deps, signal)) records.set(ip, record);
  }
  const contextsOf = function* (part: readonly string[], details: ReadonlyMap<string, AddressDetails>) {
    for (const ip of part) yield [ip, toContext(records.get(ip), details.get(ip))] as const;
  };
  const isObserved = (ip: string) => records.get(ip)?.noise !== undefined;
  const details = withDetails
    ? await (early ?? readDetailsOfMany(ips.filter(isObserved), scopes, deps, signal))
    : new Map<string, AddressDetails>();
  if (details !== undefined) {
    yield* contextsOf(ips, details);
    return;
  }
  for await (const read of oneAhead(detailsInParts(ips, isObserved, scopes, deps, signal))) {
    yield* contextsOf(read.part, read.details);
  }
}

export type SummaryDeps = LookupDeps & { readonly findInMemory: FindInMemory };

/** This many take one to two milliseconds. */
const SUMMARIES_PER_TURN = 2_000;

/** What a lookup of a single address needs, of many addresses: from memory where that has it. */
export async function* streamSummaries(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: SummaryDeps,
  signal: AbortSignal,
): AsyncGenerator<readonly [ip: string, summary: AddressSummary]> {
  const find = isGlobalOnly(scopes) ? deps.findInMemory() : undefined;
  if (find === undefined) {
    yield* streamContexts(ips, scopes, false, deps, signal);
    return;
  }
  for (const [index, ip] of ips.entries()) {
    if (index > 0 && index % SUMMARIES_PER_TURN === 0) {
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    yield [ip, find(ip)];
  }
}
