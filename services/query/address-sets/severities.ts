import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { ATTACKED } from "@noisefloor/domain/tags/attack.ts";
import { INTENTIONS, severityOf } from "@noisefloor/domain/tags/classification.ts";
import { runInChunks } from "@noisefloor/domain/time/yield.ts";
import { AddressTable } from "./address-table.ts";

/** Distinct addresses by severity: the index of their classification in {@link INTENTIONS}. */
export type CountsBySeverity = ReadonlyMap<number, number>;

/** Knows the worst severities of addresses, each one more than its index in INTENTIONS, 0 without any, with `ATTACKED`. */
export type WorstSeverities = {
  /** @param since milliseconds: severities that an address had before do not count. */
  severitiesOf(addresses: Uint32Array, since: number): Uint8Array;
};

export type SeverityRules = {
  /** The severity of an address without a worse one. */
  readonly own: number;
  /** Milliseconds: severities that an address had before do not count. */
  readonly since: number;
  readonly worst: readonly WorstSeverities[];
  /** Whether a known benign actor has an address. Undefined where no actor is known. */
  readonly isOfActor: ((address: number) => boolean) | undefined;
};

/** Classifying blocks the event loop. */
const ADDRESSES_PER_CHUNK = 20_000;

/** @param blocks of distinct addresses. */
export async function countBySeverity(blocks: readonly Uint32Array[], rules: SeverityRules): Promise<CountsBySeverity> {
  const counts = new Uint32Array(INTENTIONS.length);
  for (const addresses of blocks) {
    const count = (from: number, end: number) => {
      for (const severity of severitiesOf(addresses.subarray(from, end), rules)) {
        counts[severity] = (counts[severity] ?? 0) + 1;
      }
    };
    await runInChunks(addresses.length, count, ADDRESSES_PER_CHUNK);
  }
  return new Map(counts.entries());
}

function severitiesOf(addresses: Uint32Array, { own, since, worst, isOfActor }: SeverityRules): Uint8Array {
  const severities = new Uint8Array(addresses.length);
  const known = worst.map((source) => source.severitiesOf(addresses, since));
  for (let index = 0; index < addresses.length; index++) {
    let severity = own;
    let attacked = 0;
    for (const each of known) {
      const seen = each[index] ?? 0;
      attacked |= seen & ATTACKED;
      severity = Math.max(severity, (seen & ~ATTACKED) - 1);
    }
    const isActor = isOfActor?.(addresses[index] ?? 0) ?? false;
    severities[index] = severityOf(severity, { isActor, hasAttacked: attacked !== 0 });
  }
  return severities;
}

/** Columns of addresses and their severities, as {@link WorstSeverities} has them. */
export type AddressSeverities = { readonly source_ip: NumberColumn; readonly severity: NumberColumn };

/**
 * Remembers the worst severity of each address.
 * @param blocks an address may be in several rows. All have been seen lately enough to count.
 */
export async function tabulate(blocks: readonly AddressSeverities[]): Promise<WorstSeverities> {
  const table = new AddressTable();
  table.reserve(blocks.reduce((rows, { source_ip }) => rows + source_ip.length, 0));
  const worst = new Uint8Array(table.capacity);
  for (const { source_ip, severity } of blocks) {
    await runInChunks(source_ip.length, (from, end) => {
      for (let row = from; row < end; row++) {
        const index = table.add(source_ip[row] ?? 0);
        const [before = 0, added = 0] = [worst[index], severity[row]];
        worst[index] = Math.max(before & ~ATTACKED, added & ~ATTACKED) | ((before | added) & ATTACKED);
      }
    });
  }
  return {
    severitiesOf(addresses) {
      const found = new Uint8Array(addresses.length);
      for (let index = 0; index < addresses.length; index++) {
        found[index] = worst[table.indexOf(addresses[index] ?? 0)] ?? 0;
      }
      return found;
    },
  };
}
