import { RowDataError } from "@noisefloor/clickhouse/client/errors.ts";
import { expect, test } from "vitest";
import { digestOf, encodeTwo, observationRows } from "../../../test/support/ingest/encoded-rows.ts";
import { blockEncoder } from "./insert.ts";

test.each([
  [10_000, 10],
  [2_000, 8_000],
])("%i rows of %i bytes are blocks of some megabytes at most", async (count, size) => {
  const blocks = await blockEncoder()(observationRows(count, size));
  expect(blocks.length).toBeGreaterThan(2);
  for (const { length } of blocks) expect(length).toBeLessThan(5_000_000);
});

test("others get their turn between blocks, and two batches at a time do not mix", async () => {
  const encode = blockEncoder();
  const [one, other] = [observationRows(4_500, 5), observationRows(4_500, 50)];
  const { digests, turns } = await encodeTwo(encode, one, other);
  expect(turns).toBeGreaterThan(1);
  const alone = [await blockEncoder()(one), await blockEncoder()(other)];
  expect(digests).toEqual(alone.map(digestOf));
});

test("of rows that cannot be written, the error names the first", async () => {
  const rows = observationRows(1_000, 5).map((one, number) =>
    number < 700 ? one : { ...one, session_parts: ["no number"] },
  );
  await expect(blockEncoder()(rows)).rejects.toThrow(RowDataError);
  await expect(blockEncoder()(rows)).rejects.toThrow("the observation o-700 has no form that ClickHouse can store");
});
