import { AddressTable } from "../address-sets/address-table.ts";

const PREFIXES = 2 ** 16;
const PREFIX_SHIFT = 16;

/**
 * Numbers addresses densely, so that a set of them is a bit for each. The first ones are in the order of the addresses;
 * addresses that come later get the next numbers.
 */
export class Ordinals {
  readonly #sorted: Uint32Array;
  /** Where the addresses of each upper half begin among the sorted ones: a search there takes a few steps. */
  readonly #starts = new Uint32Array(PREFIXES + 1);
  readonly #later = new AddressTable();

  /** @param sorted distinct addresses, ascending. */
  constructor(sorted: Uint32Array) {
    this.#sorted = sorted;
    let prefix = 0;
    for (let index = 0; index < sorted.length; index++) {
      const own = (sorted[index] ?? 0) >>> PREFIX_SHIFT;
      while (prefix <= own) this.#starts[prefix++] = index;
    }
    this.#starts.fill(sorted.length, prefix);
  }

  get size(): number {
    return this.#sorted.length + this.#later.count;
  }

  /** How many are in the order of the addresses. */
  get inOrder(): number {
    return this.#sorted.length;
  }

  /** The addresses without an order, by their ordinals from `inOrder` on. */
  later(): Uint32Array {
    return this.#later.addresses();
  }

  addressOf(ordinal: number): number {
    return (ordinal < this.#sorted.length ? this.#sorted[ordinal] : this.later()[ordinal - this.#sorted.length]) ?? 0;
  }

  /** The ordinal of an address; undefined for one that has none. */
  find(address: number): number | undefined {
    const index = this.firstFrom(address);
    if (this.#sorted[index] === address) return index;
    const later = this.#later.indexOf(address);
    return later < 0 ? undefined : this.#sorted.length + later;
  }

  /** The ordinal of an address, which is added where it is new. */
  add(address: number): number {
    const index = this.firstFrom(address);
    if (this.#sorted[index] === address) return index;
    this.#later.reserve(1);
    return this.#sorted.length + this.#later.add(address);
  }

  /** The first ordinal in order whose address is not lower; `inOrder` when all are lower. */
  firstFrom(address: number): number {
    const prefix = address >>> PREFIX_SHIFT;
    let low = this.#starts[prefix] ?? 0;
    let high = this.#starts[prefix + 1] ?? 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? 0) < address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  bytes(): number {
    return this.#sorted.byteLength + this.#starts.byteLength + this.#later.capacity * 20;
  }
}
