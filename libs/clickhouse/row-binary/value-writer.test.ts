import fc from "fast-check";
import { expect, test } from "vitest";
import { valueWriter } from "./value-writer.ts";
import { BOOL, NULLABLE_UINT16, TEXTS, UUIDS } from "./written-types.ts";

const texts = fc.array(
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc.string({ unit: "grapheme-ascii", minLength: 60, maxLength: 200 }),
  ),
);

const length = (count: number): number[] => (count < 128 ? [count] : [(count & 127) | 128, ...length(count >> 7)]);
const text = (value: string) => Buffer.concat([Buffer.from(length(Buffer.byteLength(value))), Buffer.from(value)]);
const array = (values: readonly string[]) => Buffer.concat([Buffer.from(length(values.length)), ...values.map(text)]);

test("texts are written after their length, whatever it and their characters are", () => {
  const to = valueWriter();
  fc.assert(
    fc.property(texts, (values) => {
      to.clear();
      TEXTS.write(to, values);
      to.text(values[0] ?? "");
      expect(to.copy()).toEqual(Buffer.concat([array(values), text(values[0] ?? "")]));
    }),
  );
});

test("more is written than was reserved at first", () => {
  const to = valueWriter();
  const long = "x".repeat(700_000);
  to.text(long);
  to.text("é");
  TEXTS.write(to, [long, long]);
  const written = Buffer.concat([text(long), text("é"), array([long, long])]);
  expect(to.copy().equals(written)).toBe(true);
});

test("times are read as they were written, before 1970 too", () => {
  const to = valueWriter();
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 50), max: 2 ** 50 }), (ms) => {
      to.clear();
      to.time(ms);
      expect(to.copy().readBigInt64LE()).toBe(BigInt(ms));
    }),
    { examples: [[-1], [2 ** 32 - 1], [2 ** 32], [-(2 ** 32)], [Date.parse("2026-11-20T00:00:00.001Z")]] },
  );
});

test("numbers, times and ids have the bytes that ClickHouse's documentation gives them", () => {
  const to = valueWriter();
  to.ipv4("1.2.3.4");
  NULLABLE_UINT16.write(to, undefined);
  NULLABLE_UINT16.write(to, 258);
  to.time(1);
  UUIDS.write(to, ["00112233-4455-6677-8899-aabbccddeeff"]);
  BOOL.write(to, true);
  BOOL.write(to, undefined);
  expect(to.copy().toString("hex")).toBe(
    ["04030201", "01", "000201", "0100000000000000", "01", "7766554433221100", "ffeeddccbbaa9988", "01", "00"].join(""),
  );
});
