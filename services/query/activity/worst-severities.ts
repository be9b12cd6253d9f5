import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { z } from "zod";
import { severitiesInOtherDatasets, worstInOtherDatasets } from "./classification-queries.ts";
import { type Refusals, withinLimit } from "./refusals.ts";
import { tabulate, type WorstSeverities } from "./severity-table.ts";
import { inTurns } from "./turns.ts";

/** Distinct addresses by severity: the index of their classification in {@link INTENTIONS}. */
export type CountsBySeverity = ReadonlyMap<number, number>;

/** The store picks the rows of so few addresses sooner than this process reads all. */
const FEW_ADDRESSES = 50_000;
/** Eight megabytes on their way, and ten of the table; of the tag's own addresses alone there may be twice as many. */
const MAX_ROWS = 1_000_000;

export type OtherDatasetsOptions = {
  /** Of more addresses it has a part. */
  readonly most: number;
  /** How many addresses the tag has, where that is known. */
  readonly addresses?: number | undefined;
  /** The most rows that are read for more than a few addresses, {@link MAX_ROWS} by default. */
  readonly maxRows?: number | undefined;
  readonly refusals: Refusals;
};

/** Reads what the index in memory does not have: severities from other datasets than the global one. */
export async function readOtherDatasets(
  params: z.input<ReturnType<typeof worstInOtherDatasets>["params"]>,
  { most, addresses, maxRows = MAX_ROWS, refusals }: OtherDatasetsOptions,
  read: Read,
): Promise<WorstSeverities> {
  const { scopes, worse, severities, since } = params;
  const readAll = () => read(severitiesInOtherDatasets(maxRows), { scopes, worse, severities, since });
  const areFew = addresses !== undefined && addresses <= FEW_ADDRESSES;
  const all = areFew ? undefined : await withinLimit(["severities", scopes, worse.length], readAll, refusals);
  return tabulate(all ?? (await read(worstInOtherDatasets(most), params)));
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
