import type { VersionedList } from "@noisefloor/domain/feeds/address-changes.ts";

/** Objects of a feed by column: their addresses, the seconds since 1970 UTC of their versions, and whether they left. */
export type ObjectIndex = VersionedList & { readonly isRevoked: Uint8Array };

export const NO_OBJECTS: VersionedList = { addresses: new Uint32Array(), versions: new Uint32Array() };

/** A page of objects begins after this one. Milliseconds since 1970 UTC. */
export type ObjectPosition = { readonly modifiedAt: number; readonly address: number };

/** The objects of the addresses that a feed lists and of those that have left it, both in ascending order, as is this. */
export function indexObjects(listed: VersionedList, revoked: VersionedList): ObjectIndex {
  const length = listed.addresses.length + revoked.addresses.length;
  const index = {
    addresses: new Uint32Array(length),
    versions: new Uint32Array(length),
    isRevoked: new Uint8Array(length),
  };
  for (let at = 0, live = 0, gone = 0; at < length; at++) {
    const isGone = (revoked.addresses[gone] ?? Infinity) < (listed.addresses[live] ?? Infinity);
    const [from, place] = isGone ? [revoked, gone++] : [listed, live++];
    index.addresses[at] = from.addresses[place] ?? 0;
    index.versions[at] = from.versions[place] ?? 0;
    index.isRevoked[at] = Number(isGone);
  }
  return index;
}

/** The objects at some places of an index, in their order. */
export const selectObjects = ({ addresses, versions, isRevoked }: ObjectIndex, places: Uint32Array): ObjectIndex => ({
  addresses: places.map((place) => addresses[place] ?? 0),
  versions: places.map((place) => versions[place] ?? 0),
  isRevoked: Uint8Array.from(places, (place) => isRevoked[place] ?? 0),
});

/** Those of some addresses, in ascending order, for which a condition holds. */
export function selectVersions(
  { addresses, versions }: VersionedList,
  isWanted: (address: number, version: number) => boolean,
): VersionedList {
  const at = (index: number) => [addresses[index] ?? 0, versions[index] ?? 0] as const;
  return {
    addresses: addresses.filter((_, index) => isWanted(...at(index))),
    versions: versions.filter((_, index) => isWanted(...at(index))),
  };
}

/**
 * The places of the next objects in the order of their versions, then of their addresses.
 * @param index in ascending order of its addresses.
 */
export function nextObjects(
  { addresses, versions }: ObjectIndex,
  after: ObjectPosition,
  limit: number,
  isWanted: (address: number, version: number) => boolean,
): Uint32Array {
  const places = new Uint32Array(addresses.length);
  const counts = new Map<number, number>();
  let count = 0;
  for (let place = 0; place < addresses.length; place++) {
    const [address, version] = [addresses[place] ?? 0, versions[place] ?? 0];
    const time = version * 1_000 - after.modifiedAt;
    if (time < 0 || (time === 0 && address <= after.address) || !isWanted(address, version)) continue;
    places[count++] = place;
    counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  // A large feed has few versions: sorting these alone finds the last one of the page, most of whose addresses follow it.
  let [left, last] = [limit, 0];
  for (const version of [...counts.keys()].sort((one, other) => one - other)) {
    if (left <= 0) break;
    last = version;
    left -= counts.get(version) ?? 0;
  }
  const next = places.subarray(0, count);
  const versionOf = (place: number) => versions[place] ?? 0;
  const whole = next.filter((place) => versionOf(place) < last);
  whole.sort((one, other) => versionOf(one) - versionOf(other) || one - other);
  const cut = next.filter((place) => versionOf(place) === last).subarray(0, limit - whole.length);
  return Uint32Array.of(...whole, ...cut);
}
