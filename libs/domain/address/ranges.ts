import { type Ipv4Network, lastAddress } from "./ipv4.ts";

/** A network in a published list; when two lists have the same network, the higher priority wins. */
export type ListedNetwork = Ipv4Network & { readonly listId: string; readonly priority: number };

/** Addresses `first` to `last`, both inclusive, all of which belong to the same list. */
export type OwnedRange = { readonly first: number; readonly last: number; readonly listId: string };

/**
 * Flattens nested networks into disjoint ascending ranges: each address belongs to the list of its longest prefix, then
 * of the highest priority, then of the first list id. A lookup is then one binary search, and ClickHouse does it as an
 * ASOF join, without a dictionary outside its tables.
 */
export function flattenNetworks(networks: readonly ListedNetwork[]): OwnedRange[] {
  const sorted = [...networks].sort(
    (a, b) => a.first - b.first || a.length - b.length || b.priority - a.priority || (a.listId < b.listId ? -1 : 1),
  );
  const ranges: OwnedRange[] = [];
  /** The networks around the current position, widest first: prefixes either nest or are disjoint. */
  const open: ListedNetwork[] = [];
  let next = 0;

  const emit = (first: number, last: number, listId: string) => {
    if (first > last) return;
    const previous = ranges.at(-1);
    if (previous !== undefined && previous.listId === listId && previous.last === first - 1) {
      ranges[ranges.length - 1] = { ...previous, last };
    } else {
      ranges.push({ first, last, listId });
    }
  };
  /** Closes each open network that ends before `address`, and emits the part that no nested network covers. */
  const closeBefore = (address: number) => {
    for (let inner = open.at(-1); inner !== undefined && lastAddress(inner) < address; inner = open.at(-1)) {
      emit(next, lastAddress(inner), inner.listId);
      next = Math.max(next, lastAddress(inner) + 1);
      open.pop();
    }
  };

  for (const network of sorted) {
    closeBefore(network.first);
    const outer = open.at(-1);
    if (outer !== undefined && outer.first === network.first && outer.length === network.length) continue;
    if (outer !== undefined) emit(next, network.first - 1, outer.listId);
    next = network.first;
    open.push(network);
  }
  closeBefore(Number.POSITIVE_INFINITY);
  return ranges;
}

/** Disjoint ascending ranges as columns of equal length, both ends inclusive. */
export type RangeBounds = { readonly first: Uint32Array; readonly last: Uint32Array };

/** @returns the place of the range that holds the address, found by binary search. */
export function findRange({ first, last }: RangeBounds, address: number): number | undefined {
  let low = 0;
  let high = first.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((first[middle] ?? 0) <= address) low = middle + 1;
    else high = middle;
  }
  return low > 0 && address <= (last[low - 1] ?? 0) ? low - 1 : undefined;
}
