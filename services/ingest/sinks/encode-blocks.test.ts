import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { RowDataError } from "@noisefloor/clickhouse/client/errors.ts";
import { expect, test } from "vitest";
import { toRow } from "../observation-row.ts";
import { blockEncoder } from "./encode-blocks.ts";

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
const digest = (buffers: readonly Buffer[]) => hash("sha256", Buffer.concat(buffers));
const rowsOf = (count: number, size: number) => Array.from({ length: count }, (_, number) => row(number, size));

test.each([
  [10_000, 10],
  [2_000, 8_000],
])("%i rows of %i bytes are blocks of some megabytes at most", async (count, size) => {
  const blocks = await blockEncoder().encode(rowsOf(count, size));
  expect(blocks.length).toBeGreaterThan(2);
  for (const { length } of blocks) expect(length).toBeLessThan(5_000_000);
});

test("others get their turn between blocks, and two batches at a time do not mix", async () => {
  const encoder = blockEncoder();
  const [one, other] = [rowsOf(4_500, 5), rowsOf(4_500, 50)];
  let turns = 0;
  let isDone = false;
  const count = async () => {
    for (; !isDone; turns++) await nextTurn();
  };
  const counting = count();
  const both = await Promise.all([encoder.encode(one), encoder.encode(other)]);
  isDone = true;
  await counting;
  expect(turns).toBeGreaterThan(1);
  const alone = [await blockEncoder().encode(one), await blockEncoder().encode(other)];
  expect(both.map(digest)).toEqual(alone.map(digest));
});

test("of rows that cannot be written, the error names the first", async () => {
  const rows = rowsOf(1_000, 5).map((one, number) => (number < 700 ? one : { ...one, session_parts: ["no number"] }));
  await expect(blockEncoder().encode(rows)).rejects.toThrow(RowDataError);
  await expect(blockEncoder().encode(rows)).rejects.toThrow(
    "the observation o-700 has no form that ClickHouse can store",
  );
});
