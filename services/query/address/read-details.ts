import { isTooLarge } from "@noisefloor/clickhouse/client/errors.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { inOrder } from "../in-order.ts";
import { type AddressDetails, addressDetails, boundedAddressDetails, smallAddressDetails } from "./details-query.ts";
import type { LookupDeps } from "./store-lookup.ts";

/**
 * Rows with details are large, and all rows of a query are in memory together. Fewer addresses would not be cheaper: a
 * few hundred are in nearly as many blocks of the table as thousands are.
 */
const DETAILS_PER_QUERY = 2_500;
/** The results for 10,000 addresses are in memory together: eight of up to 4 MiB. */
const NEIGHBORS_PER_QUERY = 1_250;

/**
 * Reads the details of many observed addresses in the order of the table: neighbors are in the same blocks, so that
 * each block is read once. @returns undefined when they are too large for memory, or too few to gain from it.
 */
export async function readDetailsOfMany(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressDetails> | undefined> {
  if (ips.length <= NEIGHBORS_PER_QUERY) return undefined;
  const sorted = ips.toSorted((one, other) => ipv4ToNumber(one) - ipv4ToNumber(other));
  const details = new Map<string, AddressDetails>();
  const count = Math.ceil(sorted.length / NEIGHBORS_PER_QUERY);
  const parts = Array.from({ length: count }, (_, part) =>
    sorted.slice(part * NEIGHBORS_PER_QUERY, (part + 1) * NEIGHBORS_PER_QUERY),
  );
  const readPart = (part: readonly string[]) => read(smallAddressDetails, part, scopes, deps, signal);
  try {
    for await (const rows of inOrder(parts, 1, readPart)) for (const [ip, row] of rows) details.set(ip, row);
  } catch (error) {
    if (isTooLarge(error)) return undefined;
    throw error;
  }
  return details;
}

/** @returns undefined when they are too large for memory. */
export async function readDetailsOfFew(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressDetails> | undefined> {
  try {
    return await readDetails(ips, scopes, deps, signal);
  } catch (error) {
    if (isTooLarge(error)) return undefined;
    throw error;
  }
}

type DetailsPart = { readonly part: readonly string[]; readonly details: ReadonlyMap<string, AddressDetails> };

/** Halves the list until the rows of each part are few and small enough for memory. */
export async function* detailsInParts(
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
  return read(ips.length === 1 ? addressDetails : boundedAddressDetails, ips, scopes, deps, signal);
}

async function read(
  query: typeof addressDetails,
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressDetails>> {
  if (ips.length === 0) return new Map();
  const since = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(query, { ips: [...ips], scopes: [...scopes], since }, signal);
  return new Map(rows.map((row) => [row.ip, row]));
}
