import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { valueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";
import { expect, test } from "vitest";
import { type ObservationRow, toRow } from "../observation-row.ts";
import { writeRow } from "./columns.ts";
import { encodeInPieces } from "./encode-rows.ts";

function row(number: number, size: number) {
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
function rowEncoder() {
  const to = valueWriter();
  const options = { to, write: (one: ObservationRow) => writeRow(to, one), idOf: () => "" };
  return (rows: readonly ObservationRow[]) => encodeInPieces(rows, options);
}
const digest = (buffers: readonly Buffer[]) => createHash("sha256").update(Buffer.concat(buffers)).digest("hex");
const rowsOf = (count: number, size: number) => Array.from({ length: count }, (_, number) => row(number, size));

test.each([
  [4_500, 10, 3],
  [600, 8_000, 3],
])("%i rows of %i bytes have the same bytes in pieces as one by one", async (count, size, pieces) => {
  const rows = rowsOf(count, size);
  const encoded = await rowEncoder()(rows);
  expect(encoded).toHaveLength(pieces);
  const single = rowEncoder();
  const each = await Promise.all(rows.map(async (one) => Buffer.concat(await single([one]))));
  expect(digest(encoded)).toBe(digest(each));
});

test("others get their turn between pieces, and two batches at a time do not mix", async () => {
  const encode = rowEncoder();
  const [one, other] = [rowsOf(4_500, 5), rowsOf(4_500, 50)];
  let turns = 0;
  let isDone = false;
  const count = async () => {
    for (; !isDone; turns++) await nextTurn();
  };
  const counting = count();
  const both = await Promise.all([encode(one), encode(other)]);
  isDone = true;
  await counting;
  expect(turns).toBeGreaterThan(1);
  expect(both.map(digest)).toEqual([digest(await rowEncoder()(one)), digest(await rowEncoder()(other))]);
});
