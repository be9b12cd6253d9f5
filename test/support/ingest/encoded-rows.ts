import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type ObservationRow, toRow } from "@noisefloor/ingest/rows/observation-row.ts";

/** A row whose path has so many characters. */
function observationRow(number: number, size: number): ObservationRow {
  const observation = {
    observed_at: "2026-11-20T00:00:00Z",
    dataset: "global" as const,
    sensor_id: "s",
    source_ip: `45.0.${number >> 8}.${number & 255}`,
    tags: [],
    http: { path: `/${"x".repeat(size)}` },
  };
  const valid = { observation, observedAt: Date.parse(observation.observed_at) + number, isFilledIn: false };
  return toRow(valid, { observationId: `o-${number}`, tagIds: [] });
}

export const observationRows = (count: number, size: number): ObservationRow[] =>
  Array.from({ length: count }, (_, number) => observationRow(number, size));

export const digestOf = (buffers: readonly Buffer[]): string => hash("sha256", Buffer.concat(buffers));

type Encode = (rows: readonly ObservationRow[]) => Promise<readonly Buffer[]>;

/** Encodes two batches at once. @returns their digests, and the turns that others had meanwhile. */
export async function encodeTwo(encode: Encode, one: readonly ObservationRow[], other: readonly ObservationRow[]) {
  let turns = 0;
  let isDone = false;
  const count = async () => {
    for (; !isDone; turns++) await nextTurn();
  };
  const counting = count();
  const both = await Promise.all([encode(one), encode(other)]);
  isDone = true;
  await counting;
  return { digests: both.map(digestOf), turns };
}
