import { valueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";
import { expect, test } from "vitest";
import { digestOf, encodeTwo, observationRows } from "../../../test/support/ingest/encoded-rows.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { writeRow } from "./columns.ts";
import { encodeInPieces } from "./encode-rows.ts";

function rowEncoder() {
  const to = valueWriter();
  const options = { to, write: (one: ObservationRow) => writeRow(to, one), idOf: () => "" };
  return (rows: readonly ObservationRow[]) => encodeInPieces(rows, options);
}

test.each([
  [4_500, 10, 3],
  [600, 8_000, 3],
])("%i rows of %i bytes have the same bytes in pieces as one by one", async (count, size, pieces) => {
  const rows = observationRows(count, size);
  const encoded = await rowEncoder()(rows);
  expect(encoded).toHaveLength(pieces);
  const single = rowEncoder();
  const each = await Promise.all(rows.map(async (one) => Buffer.concat(await single([one]))));
  expect(digestOf(encoded)).toBe(digestOf(each));
});

test("others get their turn between pieces, and two batches at a time do not mix", async () => {
  const encode = rowEncoder();
  const [one, other] = [observationRows(4_500, 5), observationRows(4_500, 50)];
  const { digests, turns } = await encodeTwo(encode, one, other);
  expect(turns).toBeGreaterThan(1);
  expect(digests).toEqual([digestOf(await rowEncoder()(one)), digestOf(await rowEncoder()(other))]);
});
