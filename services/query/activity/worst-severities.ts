import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { z } from "zod";
import { createSightings, type Sightings } from "../address-index/sightings.ts";
import { type AddressSeverities, worstInOtherDatasets } from "./queries.ts";
import { inTurns } from "./turns.ts";

/** Distinct addresses by severity: the index of their classification in {@link INTENTIONS}. */
export type CountsBySeverity = ReadonlyMap<number, number>;

/** Knows the worst severities of addresses, each one more than in {@link CountsBySeverity}; 0 of those without any. */
export type WorstSeverities = Pick<Sightings, "severitiesOf">;

/** This many take two to five milliseconds. */
const RECORDS_PER_TURN = 8_000;

/**
 * Reads what the index in memory does not have: severities from other datasets than the global one.
 * @param most of more addresses it has a part.
 */
export async function readOtherDatasets(
  params: z.input<typeof worstInOtherDatasets.params>,
  most: number,
  read: Read,
): Promise<WorstSeverities> {
  const sightings = createSightings();
  const fits = () => sightings.size() <= most;
  const onBlock = async ({ source_ip, severity }: AddressSeverities) => {
    if (!fits()) return;
    const record = (from: number, end: number) => {
      for (let row = from; row < end; row++) {
        sightings.record(source_ip[row] ?? 0, (severity[row] ?? 0) + 1, params.since);
      }
      return fits();
    };
    await inTurns(source_ip.length, record, RECORDS_PER_TURN);
  };
  await read({ ...worstInOtherDatasets, onBlock }, params);
  return sightings;
}

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
  const count = (from: number, end: number) => {
    for (const severity of severitiesOf(addresses.subarray(from, end), by)) {
      counts[severity] = (counts[severity] ?? 0) + 1;
    }
  };
  await inTurns(addresses.length, count, ADDRESSES_PER_TURN);
  return new Map(counts.entries());
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
