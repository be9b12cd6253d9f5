import type { DataRoom } from "@noisefloor/domain/scope.ts";
import { retentionStart } from "@noisefloor/domain/window.ts";
import { type AddressRecord, type LookupDeps, lookUpAll } from "./address-lookup.ts";
import { type AddressDetails, addressDetails } from "./queries/address-details.ts";

/** All that is known of an address in some rooms. */
export type AddressContext = AddressRecord & {
  /** Present when the address was observed. */
  readonly details?: AddressDetails;
};

/** How many addresses one query takes: enough to be quick, few enough to keep its memory small. */
const ADDRESSES_PER_QUERY = 2_000;

/**
 * All that is known of some addresses; every one asked for is in the answer. Without a room nothing is known of
 * anybody. @param wantsDetails false when noise, riot and classification are enough.
 */
export async function addressContexts(
  ips: readonly string[],
  rooms: readonly DataRoom[],
  wantsDetails: boolean,
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressContext>> {
  const contexts = new Map<string, AddressContext>();
  if (rooms.length === 0) return new Map(ips.map((ip) => [ip, {}]));
  for (let start = 0; start < ips.length; start += ADDRESSES_PER_QUERY) {
    const records = await lookUpAll(ips.slice(start, start + ADDRESSES_PER_QUERY), rooms, deps, signal);
    const observed = [...records].flatMap(([ip, { noise }]) => (noise === undefined ? [] : [ip]));
    const details = wantsDetails ? await readDetails(observed, rooms, deps, signal) : new Map<string, AddressDetails>();
    for (const [ip, record] of records) {
      const known = details.get(ip);
      contexts.set(ip, known === undefined ? record : { ...record, details: known });
    }
  }
  return contexts;
}

async function readDetails(
  ips: readonly string[],
  rooms: readonly DataRoom[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<Map<string, AddressDetails>> {
  if (ips.length === 0) return new Map();
  const since = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(addressDetails, { ips: [...ips], rooms: [...rooms], since }, signal);
  return new Map(rows.map((row) => [row.ip, row]));
}
