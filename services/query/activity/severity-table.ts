import { scramble } from "../address-index/scramble.ts";
import type { AddressSeverities } from "./classification-queries.ts";
import { slotBitsFor } from "./drop-repeated.ts";
import { inTurns } from "./turns.ts";

/** Knows the worst severities of addresses, each one more than its place among INTENTIONS; 0 of those without any. */
export type WorstSeverities = {
  /** @param since milliseconds: severities that an address had before do not count. */
  severitiesOf(addresses: Uint32Array, since: number): Uint8Array;
};

/**
 * Puts rows in any order into a hash table that is at most half full. The index's sightings, which know times, too, and
 * grow, would take six times as long.
 * @param blocks an address may be in several rows. All have been seen lately enough to count.
 */
export async function tabulate(blocks: readonly AddressSeverities[]): Promise<WorstSeverities> {
  const rows = blocks.reduce((sum, { source_ip }) => sum + source_ip.length, 0);
  const bits = slotBitsFor(rows);
  const shift = 32 - bits;
  const addresses = new Uint32Array(2 ** bits);
  // 0 where no address is.
  const severities = new Uint8Array(2 ** bits);
  const last = severities.length - 1;
  /** Where an address is or, where it is not, may be put. */
  const slotOf = (address: number) => {
    let slot = scramble(address) >>> shift;
    while (severities[slot] !== 0 && addresses[slot] !== address) slot = (slot + 1) & last;
    return slot;
  };
  for (const { source_ip, severity } of blocks) {
    await inTurns(source_ip.length, (from, end) => {
      for (let row = from; row < end; row++) {
        const address = source_ip[row] ?? 0;
        const slot = slotOf(address);
        addresses[slot] = address;
        severities[slot] = Math.max(severities[slot] ?? 0, (severity[row] ?? 0) + 1);
      }
    });
  }
  return {
    severitiesOf(asked) {
      const found = new Uint8Array(asked.length);
      for (let place = 0; place < asked.length; place++) {
        found[place] = severities[slotOf(asked[place] ?? 0)] ?? 0;
      }
      return found;
    },
  };
}
