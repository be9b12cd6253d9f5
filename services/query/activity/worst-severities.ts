import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { z } from "zod";
import { createSightings, type Sightings } from "../address-index/sightings.ts";
import { type AddressSeverities, readWorseElsewhere } from "./queries.ts";
import { inTurns } from "./turns.ts";

/** Distinct addresses by severity: the index of their classification in {@link INTENTIONS}. */
export type CountsBySeverity = ReadonlyMap<number, number>;

/** Knows the worst severities that addresses had, one more than those by which they are counted; 0 without any. */
export type WorstSeverities = Pick<Sightings, "severitiesOf">;

/**
 * Reads what the index in memory does not have: severities from other datasets than the global one.
 * @param most of more addresses it has a part.
 */
export async function readWorstElsewhere(
  params: z.input<typeof readWorseElsewhere.params>,
  most: number,
  read: Read,
): Promise<WorstSeverities> {
  const elsewhere = createSightings();
  const fits = () => elsewhere.size() <= most;
  const onBlock = async ({ source_ip, severity }: AddressSeverities) => {
    if (!fits()) return;
    await inTurns(source_ip.length, (from, end) => {
      for (let row = from; row < end; row++) {
        elsewhere.record(source_ip[row] ?? 0, (severity[row] ?? 0) + 1, params.since);
      }
      return fits();
    });
  };
  await read({ ...readWorseElsewhere, onBlock }, params);
  return elsewhere;
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
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_TURN) {
    for (const severity of severitiesOf(addresses.subarray(start, start + ADDRESSES_PER_TURN), by)) {
      counts[severity] = (counts[severity] ?? 0) + 1;
    }
    await ownTurn();
  }
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
