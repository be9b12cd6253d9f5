import type { GuardNetwork } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { ipv4ToNumber, isIpv4, numberToIpv4, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { findRange, flattenNetworks, type ListedNetwork, type OwnedRange } from "@noisefloor/domain/address/ranges.ts";
import type { BenignNetworks } from "../../address/benign-networks.ts";

/** Why an address is in no feed. */
export type GuardReason =
  | { readonly type: "service" | "actor"; readonly name: string }
  | { readonly type: "own_address" }
  | { readonly type: "network"; readonly id: string; readonly network: string; readonly note: string };

/**
 * @param address as a number.
 * @param hasAttacked the network of a known benign actor guards no address that attacked, as that is not benign.
 * @returns undefined for an address that feeds may list.
 */
export type FindGuard = (address: number, hasAttacked: boolean) => GuardReason | undefined;

/** Clouds, of level 3, are not guarded: anybody may rent an address there. */
const GUARDED_LEVELS: readonly string[] = ["1", "2"];

export type GuardOptions = {
  readonly networks: Pick<BenignNetworks, "service" | "actor">;
  /** OWN_ADDRESSES: addresses and networks; those of IPv6 are in no feed anyway. */
  readonly ownAddresses: readonly string[];
  readonly guardNetworks: readonly GuardNetwork[];
};

export function createGuard({ networks, ownAddresses, guardNetworks }: GuardOptions): FindGuard {
  const isOwn = findIn(
    rangesOf(ownAddresses.map((text, index) => ({ id: String(index), network: withoutHostBits(text) }))),
  );
  const findNetwork = findIn(rangesOf(guardNetworks));
  const byId = new Map(guardNetworks.map((guard) => [guard.id, guard]));
  return (address, hasAttacked) => {
    const service = networks.service(address);
    if (service !== undefined && GUARDED_LEVELS.includes(service.trustLevel)) {
      return { type: "service", name: service.name };
    }
    const actor = hasAttacked ? undefined : networks.actor(address);
    if (actor !== undefined) return { type: "actor", name: actor.name };
    if (isOwn(address) !== undefined) return { type: "own_address" };
    const guard = byId.get(findNetwork(address) ?? "");
    return guard && { type: "network", id: guard.id, network: guard.network, note: guard.note };
  };
}

/** `45.0.0.9/24` → `45.0.0.0/24`: settings take both. What is no network of IPv4 stays as it is. */
function withoutHostBits(text: string): string {
  const [address = "", bits] = text.split("/");
  if (bits === undefined || !isIpv4(address)) return text;
  const size = 2 ** (32 - Number(bits));
  return `${numberToIpv4(Math.floor(ipv4ToNumber(address) / size) * size)}/${bits}`;
}

/** The addresses of some networks as disjoint ranges in ascending order, each of which is of the narrowest network. */
export function rangesOf(networks: readonly { readonly id: string; readonly network: string }[]): OwnedRange[] {
  const listed = networks.flatMap(({ id, network }): ListedNetwork[] => {
    const parsed = parseNetwork(network);
    return typeof parsed === "string" ? [] : [{ ...parsed, listId: id, priority: 0 }];
  });
  return flattenNetworks(listed);
}

/** Finds the id of the network that an address is in. */
export function findIn(ranges: readonly OwnedRange[]) {
  const first = Uint32Array.from(ranges, (range) => range.first);
  const last = Uint32Array.from(ranges, (range) => range.last);
  return (address: number): string | undefined => {
    const index = findRange({ first, last }, address);
    return index === undefined ? undefined : ranges[index]?.listId;
  };
}
