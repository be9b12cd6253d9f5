import { scramble } from "../address-index/scramble.ts";

const HASH_BITS = 32;
const WORDS_PER_SLOT = 2;

/**
 * Numbers distinct addresses from 0 on, in the order in which they come. A hash table that grows by doubling.
 *
 * A class, and not closures: V8 keeps the optimised code of methods over a full garbage collection.
 */
export class AddressTable {
  #count = 0;
  #addresses = new Uint32Array();
  /**
   * Two words for each slot, so that a search reads one line of the processor's cache: an address, and its index plus 1
   * or 0 in a free slot. At most half full; an address is in its slot or in the next that was free.
   */
  #slots = new Uint32Array(2 * WORDS_PER_SLOT);
  /** The slot of an address is the upper bits of the scrambled address, without this many lower ones. */
  #shift = HASH_BITS - 1;

  get count(): number {
    return this.#count;
  }

  /** How many addresses fit; {@link AddressTable.reserve} raises it. */
  get capacity(): number {
    return this.#addresses.length;
  }

  /** By index. */
  addresses(): Uint32Array {
    return this.#addresses.subarray(0, this.#count);
  }

  /** Makes room for more addresses. To be called before they are added. */
  reserve(more: number): void {
    const needed = this.#count + more;
    if (needed <= this.capacity) return;
    const slotBits = Math.ceil(Math.log2(2 * needed));
    this.#addresses = grown(this.#addresses, 2 ** (slotBits - 1));
    this.#slots = new Uint32Array(2 ** slotBits * WORDS_PER_SLOT);
    this.#shift = HASH_BITS - slotBits;
    for (let index = 0; index < this.#count; index++) {
      const address = this.#addresses[index] ?? 0;
      this.#fill(this.#slotOf(address), address, index);
    }
  }

  /** The index of an address, which is added where it is new. */
  add(address: number): number {
    const slot = this.#slotOf(address);
    const found = this.#slots[slot + 1] ?? 0;
    if (found !== 0) return found - 1;
    this.#addresses[this.#count] = address;
    this.#fill(slot, address, this.#count);
    return this.#count++;
  }

  /** The index of an address, or -1. */
  indexOf(address: number): number {
    return (this.#slots[this.#slotOf(address) + 1] ?? 0) - 1;
  }

  #fill(slot: number, address: number, index: number): void {
    this.#slots[slot] = address;
    this.#slots[slot + 1] = index + 1;
  }

  /** The first word of the slot where an address is or, where it is not, may be put. */
  #slotOf(address: number): number {
    const slots = this.#slots;
    let slot = (scramble(address) >>> this.#shift) * WORDS_PER_SLOT;
    while (slots[slot + 1] !== 0 && slots[slot] !== address) slot = (slot + WORDS_PER_SLOT) & (slots.length - 1);
    return slot;
  }
}

/** A longer array that begins with the same numbers. */
export function grown(numbers: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(length);
  longer.set(numbers);
  return longer;
}
