import type { Scope } from "@noisefloor/domain/scope.ts";
import { retentionStart } from "@noisefloor/domain/window.ts";
import { type AddressDetails, addressDetails } from "./details-query.ts";
import { type AddressRecord, type LookupDeps, lookUpAll } from "./lookup.ts";

/** All that is known of an address in some scopes. */
export type AddressContext = AddressRecord & {
  /** Present when the address was observed. */
  readonly details?: AddressDetails;
};

/** How many addresses one query takes: enough to be quick, few enough to keep its memory small. */
const ADDRESSES_PER_QUERY = 2_000;
/** Fewer where all is asked of each: what makes objects of a query's rows stops all else meanwhile. */
const DETAILS_PER_QUERY = 250;

/**
 * All that is known of some addresses; every one asked for is in the answer. Without a scope nothing is known of
 * anybody. @param wantsDetails false when noise, riot and classification are enough.
 */
export async function addressContexts(
  ips: readonly string[],
  scopes: readonly Scope[],
  wantsDetails: boolean,
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressContext>> {
  const contexts = new Map<string, AddressContext>();
  for await (const [ip, context] of readContexts(ips, scopes, wantsDetails, deps, signal)) contexts.set(ip, context);
  return contexts;
}

/** The same, one address after the other in their order, for more of them than should be in memory at once. */
export async function* readContexts(
  ips: readonly string[],
  scopes: readonly Scope[],
  wantsDetails: boolean,
  deps: LookupDeps,
  signal: AbortSignal,
): AsyncGenerator<readonly [ip: string, context: AddressContext]> {
  if (scopes.length === 0) {
    for (const ip of ips) yield [ip, {}];
    return;
  }
  for (let start = 0; start < ips.length; start += ADDRESSES_PER_QUERY) {
    const asked = ips.slice(start, start + ADDRESSES_PER_QUERY);
    const records = await lookUpAll(asked, scopes, deps, signal);
    const atOnce = wantsDetails ? DETAILS_PER_QUERY : asked.length;
    for (let first = 0; first < asked.length; first += atOnce) {
      const some = asked.slice(first, first + atOnce);
      const observed = wantsDetails ? some.filter((ip) => records.get(ip)?.noise !== undefined) : [];
      const details = await readDetails(observed, scopes, deps, signal);
      for (const ip of some) {
        const known = details.get(ip);
        yield [ip, { ...records.get(ip), ...(known === undefined ? {} : { details: known }) }];
      }
    }
  }
}

async function readDetails(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressDetails>> {
  if (ips.length === 0) return new Map();
  const since = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(addressDetails, { ips: [...ips], scopes: [...scopes], since }, signal);
  return new Map(rows.map((row) => [row.ip, row]));
}
