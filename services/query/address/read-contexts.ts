import { isTooLarge } from "@noisefloor/clickhouse/client/errors.ts";
import { isGlobalOnly, type Scope } from "@noisefloor/domain/access/scope.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import type { FindInMemory } from "../address-index/memory-lookup.ts";
import { oneAhead } from "../one-ahead.ts";
import { type AddressDetails, addressDetails, boundedAddressDetails } from "./details-query.ts";
import type { AddressRecord, AddressSummary } from "./records.ts";
import { type LookupDeps, lookUpMany } from "./store-lookup.ts";

/** Everything the service knows of an address in some scopes. */
export type AddressContext = AddressRecord & {
  /** Present when the address was observed. */
  readonly details?: AddressDetails;
};

/** Bounds the memory of a query. */
const ADDRESSES_PER_QUERY = 5_000;
/**
 * Rows with details are large, and all of a query's are in memory at once. Fewer would take longer in all: a few
 * hundred addresses are in nearly as many blocks of the table as thousands are.
 */
const DETAILS_PER_QUERY = 2_500;

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
  const [ip] = ips;
  if (ip !== undefined && ips.length === 1 && withDetails && scopes.length > 0) {
    return new Map([[ip, await readContext(ip, scopes, deps, signal)]]);
  }
  const contexts = new Map<string, AddressContext>();
  for await (const [each, context] of streamContexts(ips, scopes, withDetails, deps, signal))
    contexts.set(each, context);
  return contexts;
}

/** Reads the details of a single address without waiting for whether it was seen: that takes a third less time. */
async function readContext(
  ip: string,
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<AddressContext> {
  // The longer query first: it gets all threads.
  const [details, records] = await Promise.all([
    readDetails([ip], scopes, deps, signal),
    lookUpMany([ip], scopes, deps, signal),
  ]);
  return toContext(records.get(ip), details.get(ip));
}

/** Details count only with the record that the address was seen, which another query has read. */
function toContext(record: AddressRecord | undefined, details: AddressDetails | undefined): AddressContext {
  return { ...record, ...(record?.noise === undefined || details === undefined ? {} : { details }) };
}

/** The same as a stream in the order of `ips`, for more addresses than should be in memory at once. */
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
  for (let start = 0; start < ips.length; start += ADDRESSES_PER_QUERY) {
    const batch = ips.slice(start, start + ADDRESSES_PER_QUERY);
    const records = await lookUpMany(batch, scopes, deps, signal);
    if (!withDetails) {
      for (const ip of batch) yield [ip, toContext(records.get(ip), undefined)];
      continue;
    }
    const isObserved = (ip: string) => records.get(ip)?.noise !== undefined;
    for await (const { part, details } of oneAhead(detailsInParts(batch, isObserved, scopes, deps, signal))) {
      for (const ip of part) yield [ip, toContext(records.get(ip), details.get(ip))];
    }
  }
}

export type SummaryDeps = LookupDeps & { readonly findInMemory: FindInMemory };

/** So many take one to two milliseconds. */
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
  for (const [place, ip] of ips.entries()) {
    if (place > 0 && place % SUMMARIES_PER_TURN === 0) {
      await ownTurn();
      signal.throwIfAborted();
    }
    yield [ip, find(ip)];
  }
}

type DetailsPart = { readonly part: readonly string[]; readonly details: ReadonlyMap<string, AddressDetails> };

/** In halves, until the rows of each part are few and small enough to be in memory at once. */
async function* detailsInParts(
  ips: readonly string[],
  isObserved: (ip: string) => boolean,
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): AsyncGenerator<DetailsPart> {
  const details =
    ips.length > DETAILS_PER_QUERY
      ? "too-many"
      : await readDetails(ips.filter(isObserved), scopes, deps, signal).catch((error: unknown) => {
          if (ips.length > 1 && isTooLarge(error)) return "too-large";
          throw error;
        });
  if (typeof details !== "string") {
    yield { part: ips, details };
    return;
  }
  const half = Math.ceil(ips.length / 2);
  yield* detailsInParts(ips.slice(0, half), isObserved, scopes, deps, signal);
  yield* detailsInParts(ips.slice(half), isObserved, scopes, deps, signal);
}

async function readDetails(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressDetails>> {
  if (ips.length === 0) return new Map();
  const since = retentionStart(deps.now(), deps.retentionDays());
  const query = ips.length === 1 ? addressDetails : boundedAddressDetails;
  const rows = await deps.read(query, { ips: [...ips], scopes: [...scopes], since }, signal);
  return new Map(rows.map((row) => [row.ip, row]));
}
