import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { scramble } from "../address-index/scramble.ts";
import { WORD_BITS } from "./bucket-bits.ts";
import { inTurns } from "./turns.ts";

/** Columns of addresses and their severities. */
export type AddressSeverities = { readonly source_ip: NumberColumn; readonly severity: NumberColumn };

type Part = { readonly from: number; readonly end: number };

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
  const table = new SeverityTable(blocks.reduce((rows, { source_ip }) => rows + source_ip.length, 0));
  for (const block of blocks) {
    await inTurns(block.source_ip.length, (from, end) => table.add(block, { from, end }));
  }
  return table;
}

/**
 * A class, and not closures: V8 drops the optimised code of closures with a full garbage collection, and would compile
 * these loops again for nearly every table.
 */
class SeverityTable implements WorstSeverities {
  readonly #addresses: Uint32Array;
  /** 0 where no address is. */
  readonly #severities: Uint8Array;
  readonly #shift: number;

  constructor(rows: number) {
    const bits = rows === 0 ? 1 : Math.ceil(Math.log2(2 * rows));
    this.#addresses = new Uint32Array(2 ** bits);
    this.#severities = new Uint8Array(2 ** bits);
    this.#shift = WORD_BITS - bits;
  }

  add({ source_ip, severity }: AddressSeverities, { from, end }: Part): void {
    const [addresses, severities] = [this.#addresses, this.#severities];
    for (let row = from; row < end; row++) {
      const address = source_ip[row] ?? 0;
      const slot = this.#slotOf(address);
      addresses[slot] = address;
      severities[slot] = Math.max(severities[slot] ?? 0, (severity[row] ?? 0) + 1);
    }
  }

  severitiesOf(asked: Uint32Array): Uint8Array {
    const severities = this.#severities;
    const found = new Uint8Array(asked.length);
    for (let place = 0; place < asked.length; place++) found[place] = severities[this.#slotOf(asked[place] ?? 0)] ?? 0;
    return found;
  }

  /** Where an address is or, where it is not, may be put. */
  #slotOf(address: number): number {
    const [addresses, severities] = [this.#addresses, this.#severities];
    let slot = scramble(address) >>> this.#shift;
    while (severities[slot] !== 0 && addresses[slot] !== address) slot = (slot + 1) & (severities.length - 1);
    return slot;
  }
}
