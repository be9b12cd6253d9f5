/** How a list differs from an earlier one. Addresses are IPv4 as numbers in ascending order, each once. */
export type AddressChanges = { readonly added: Uint32Array; readonly removed: Uint32Array };

export const NO_CHANGES: AddressChanges = { added: new Uint32Array(), removed: new Uint32Array() };

/** What makes `after` of `before`, both in ascending order and without repetitions. */
export function changesBetween(before: Uint32Array, after: Uint32Array): AddressChanges {
  const added = new Uint32Array(after.length);
  const removed = new Uint32Array(before.length);
  let addedCount = 0;
  let removedCount = 0;
  let old = 0;
  let index = 0;
  while (old < before.length && index < after.length) {
    const [was, is] = [before[old] ?? 0, after[index] ?? 0];
    if (was === is) {
      old++;
      index++;
    } else if (was < is) {
      removed[removedCount++] = was;
      old++;
    } else {
      added[addedCount++] = is;
      index++;
    }
  }
  while (old < before.length) removed[removedCount++] = before[old++] ?? 0;
  while (index < after.length) added[addedCount++] = after[index++] ?? 0;
  return { added: added.slice(0, addedCount), removed: removed.slice(0, removedCount) };
}

/** The list after some changes, in the order in which they were made. */
export function applyChanges(list: Uint32Array, changes: readonly AddressChanges[]): Uint32Array {
  const { added, removed } = composeChanges(changes);
  const result = new Uint32Array(list.length + added.length);
  let length = 0;
  let next = 0;
  let gone = 0;
  for (const address of list) {
    for (; next < added.length && (added[next] ?? 0) < address; next++) result[length++] = added[next] ?? 0;
    while (gone < removed.length && (removed[gone] ?? 0) < address) gone++;
    if (removed[gone] !== address && added[next] !== address) result[length++] = address;
  }
  for (; next < added.length; next++) result[length++] = added[next] ?? 0;
  return result.slice(0, length);
}

/** A list of addresses in ascending order, and of each the second since 1970 UTC of its newest version. */
export type VersionedList = { readonly addresses: Uint32Array; readonly versions: Uint32Array };

/** A change of a list, and the addresses that get a new version by it without coming or leaving. */
export type Revision = AddressChanges & {
  readonly renewed: Uint32Array;
  /** When it was made, in milliseconds since 1970 UTC. */
  readonly revisedAt: number;
};

/** The version of the addresses that a revision of this time names. @param time milliseconds since 1970 UTC. */
export const versionAt = (time: number): number => Math.floor(time / 1_000);

/** The list after some revisions, in the order in which they were made. */
export function applyRevisions(list: VersionedList, revisions: readonly Revision[]): VersionedList {
  const newest = new Map<number, number>();
  for (const { added, renewed, revisedAt } of revisions) {
    for (const addresses of [added, renewed]) {
      for (const address of addresses) newest.set(address, versionAt(revisedAt));
    }
  }
  const addresses = applyChanges(list.addresses, revisions);
  let before = 0;
  const versions = addresses.map((address) => {
    while ((list.addresses[before] ?? address) < address) before++;
    return newest.get(address) ?? list.versions[before] ?? 0;
  });
  return { addresses, versions };
}

/** Several changes as one: an address that came and went is in neither list. */
export function composeChanges(changes: readonly AddressChanges[]): AddressChanges {
  const [only, second] = changes;
  if (only === undefined) return NO_CHANGES;
  if (second === undefined) return only;
  const isAdded = new Map<number, boolean>();
  const note = (address: number, isNew: boolean) => {
    // The opposite of what is known: the address is again as it was before all changes.
    if (!isAdded.delete(address)) isAdded.set(address, isNew);
  };
  for (const { added, removed } of changes) {
    for (const address of added) note(address, true);
    for (const address of removed) note(address, false);
  }
  const sorted = (isNew: boolean) =>
    Uint32Array.from([...isAdded].flatMap(([address, is]) => (is === isNew ? [address] : []))).sort();
  return { added: sorted(true), removed: sorted(false) };
}
