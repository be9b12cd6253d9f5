import { scramble } from "../address-index/scramble.ts";
import { WORD_BITS } from "./bucket-bits.ts";

/** The places of an array from one on; the end is exclusive. */
export type Part = { readonly from: number; readonly end: number };

/** The slots of a hash table that is at most half full, as a power of two. */
export function slotBitsFor(addresses: number): number {
  return addresses === 0 ? 1 : Math.ceil(Math.log2(2 * addresses));
}

/** Slots of 64 KiB, which stay in the processor's cache. */
const CACHED_BITS = 14;

/** Up to four times as many, while they stay in the cache: to search past taken slots costs more than to clear more. */
function sparseSlotBitsFor(addresses: number): number {
  const least = slotBitsFor(addresses);
  return Math.max(least, Math.min(least + 2, CACHED_BITS));
}

/** Slots for up to so many addresses. */
export function slotsFor(addresses: number): Uint32Array {
  return new Uint32Array(2 ** sparseSlotBitsFor(addresses));
}

/**
 * Leaves each address of a part of an array once, at its start. To sort them takes several times as long.
 * @param slots is overwritten: a hash table of their places, plus 1; see {@link slotsFor}.
 * @returns where they end.
 */
export function dropRepeated(addresses: Uint32Array, { from, end }: Part, slots: Uint32Array): number {
  const bits = sparseSlotBitsFor(end - from);
  const [shift, lastSlot] = [WORD_BITS - bits, 2 ** bits - 1];
  slots.fill(0, 0, lastSlot + 1);
  let kept = from;
  for (let place = from; place < end; place++) {
    const address = addresses[place] ?? 0;
    let slot = scramble(address) >>> shift;
    let held = slots[slot] ?? 0;
    while (held !== 0 && addresses[held - 1] !== address) {
      slot = (slot + 1) & lastSlot;
      held = slots[slot] ?? 0;
    }
    if (held !== 0) continue;
    addresses[kept++] = address;
    slots[slot] = kept;
  }
  return kept;
}
