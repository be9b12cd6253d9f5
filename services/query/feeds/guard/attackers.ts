import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { type LookupDeps, lookUpMany } from "../../address/store-lookup.ts";

/** Bounds the memory of a query. */
const ADDRESSES_PER_QUERY = 5_000;

/** Which of some addresses attacked, in the global dataset and the retention. */
export async function readAttackers(
  addresses: readonly number[],
  deps: LookupDeps,
  signal: AbortSignal,
): Promise<ReadonlySet<number>> {
  const attackers = new Set<number>();
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_QUERY) {
    const ips = addresses.slice(start, start + ADDRESSES_PER_QUERY).map(numberToIpv4);
    for (const [ip, { noise }] of await lookUpMany(ips, [GLOBAL_SCOPE], deps, signal)) {
      if (noise?.hasAttacked) attackers.add(ipv4ToNumber(ip));
    }
  }
  return attackers;
}
