/** How a list differs from an earlier one. Addresses are IPv4 as numbers in ascending order, each once. */
export type AddressChanges = { readonly added: Uint32Array; readonly removed: Uint32Array };

/** How the names of a list differ from those of an earlier one: in ascending order, each once. */
export type NameChanges = { readonly addedNames: readonly string[]; readonly removedNames: readonly string[] };

/** How a list of hosts differs from an earlier one. */
export type HostChanges = AddressChanges & NameChanges;

export const NO_CHANGES: HostChanges = {
  added: new Uint32Array(),
  removed: new Uint32Array(),
  addedNames: [],
  removedNames: [],
};

/** How many hosts came and left. */
export const sizeOfChanges = ({ added, removed, addedNames, removedNames }: HostChanges): number =>
  added.length + removed.length + addedNames.length + removedNames.length;

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

/** As {@link changesBetween}, of names. */
export function nameChangesBetween(before: readonly string[], after: readonly string[]): NameChanges {
  const [old, current] = [new Set(before), new Set(after)];
  return {
    addedNames: after.filter((name) => !old.has(name)),
    removedNames: before.filter((name) => !current.has(name)),
  };
}

/** The list after some changes, in the order in which they were made. */
export function applyChanges(list: Uint32Array, changes: readonly AddressChanges[]): Uint32Array {
  const { added, removed } = composeAddresses(changes);
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

/** The addresses and the names of a feed. Names are in ascending order and have no versions. */
export type HostList = VersionedList & { readonly names: readonly string[] };

export const NO_HOSTS: HostList = { addresses: new Uint32Array(), versions: new Uint32Array(), names: [] };

/** A change of a list, and the addresses that get a new version by it without coming or leaving. */
export type Revision = HostChanges & {
  readonly renewed: Uint32Array;
  /** When it was made, in milliseconds since 1970 UTC. */
  readonly revisedAt: number;
};

/** The version of the addresses that a revision of this time names. @param time milliseconds since 1970 UTC. */
export const versionAt = (time: number): number => Math.floor(time / 1_000);

/** The list after some revisions, in the order in which they were made. */
export function applyRevisions(list: HostList, revisions: readonly Revision[]): HostList {
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
  return { addresses, versions, names: applyNames(list.names, revisions) };
}

function applyNames(names: readonly string[], changes: readonly NameChanges[]): readonly string[] {
  const { addedNames, removedNames } = composeNames(changes);
  if (addedNames.length + removedNames.length === 0) return names;
  const isRemoved = new Set(removedNames);
  return [...new Set([...names, ...addedNames])].filter((name) => !isRemoved.has(name)).sort();
}

/** Several changes as one: a host that came and went is in neither list. */
export function composeChanges(changes: readonly HostChanges[]): HostChanges {
  const [only, second] = changes;
  if (only === undefined) return NO_CHANGES;
  if (second === undefined) return only;
  return { ...composeAddresses(changes), ...composeNames(changes) };
}

function composeAddresses(changes: readonly AddressChanges[]): AddressChanges {
  const [only, second] = changes;
  if (only !== undefined && second === undefined) return only;
  const { added, removed } = compose<number>(changes);
  return { added: Uint32Array.from(added).sort(), removed: Uint32Array.from(removed).sort() };
}

function composeNames(changes: readonly NameChanges[]): NameChanges {
  const { added, removed } = compose(
    changes.map(({ addedNames, removedNames }) => ({ added: addedNames, removed: removedNames })),
  );
  return { addedNames: added.sort(), removedNames: removed.sort() };
}

function compose<Host>(changes: readonly { readonly added: Iterable<Host>; readonly removed: Iterable<Host> }[]) {
  const isAdded = new Map<Host, boolean>();
  const note = (host: Host, isNew: boolean) => {
    // The opposite of what is known: the host is again as it was before all changes.
    if (!isAdded.delete(host)) isAdded.set(host, isNew);
  };
  for (const { added, removed } of changes) {
    for (const host of added) note(host, true);
    for (const host of removed) note(host, false);
  }
  const those = (isNew: boolean) => [...isAdded].flatMap(([host, is]) => (is === isNew ? [host] : []));
  return { added: those(true), removed: those(false) };
}
