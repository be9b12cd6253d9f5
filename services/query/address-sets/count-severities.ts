import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { WorstSeverities } from "./severity-table.ts";
import { inTurns } from "./turns.ts";

/** Distinct addresses by severity: the index of their classification in {@link INTENTIONS}. */
export type CountsBySeverity = ReadonlyMap<number, number>;

export type Classified = {
  /** The severity of an address without a worse one. */
  readonly own: number;
  /** Milliseconds: severities that an address had before do not count. */
  readonly since: number;
  readonly worst: readonly WorstSeverities[];
  /** Such an address is benign, whatever it did. Undefined where no actor is known. */
  readonly isOfActor: ((address: number) => boolean) | undefined;
};

/** Classifying blocks the event loop: this many addresses take two to six milliseconds. */
const ADDRESSES_PER_TURN = 20_000;

export async function countSeverities(addresses: Uint32Array, by: Classified): Promise<CountsBySeverity> {
  const counts = new Uint32Array(INTENTIONS.length);
  const count = (from: number, end: number) => countInto(counts, severitiesOf(addresses.subarray(from, end), by));
  await inTurns(addresses.length, count, ADDRESSES_PER_TURN);
  return new Map(counts.entries());
}

function countInto(counts: Uint32Array, severities: Uint8Array): void {
  for (let place = 0; place < severities.length; place++) {
    const severity = severities[place] ?? 0;
    counts[severity] = (counts[severity] ?? 0) + 1;
  }
}

function severitiesOf(addresses: Uint32Array, { own, since, worst, isOfActor }: Classified): Uint8Array {
  const severities = new Uint8Array(addresses.length).fill(own);
  for (const source of worst) {
    const known = source.severitiesOf(addresses, since);
    for (let place = 0; place < addresses.length; place++) {
      severities[place] = Math.max(severities[place] ?? 0, (known[place] ?? 0) - 1);
    }
  }
  if (isOfActor === undefined) return severities;
  for (let place = 0; place < addresses.length; place++) {
    if (isOfActor(addresses[place] ?? 0)) severities[place] = 0;
  }
  return severities;
}
