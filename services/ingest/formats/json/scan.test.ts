import { existsSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readingValue } from "./scan.ts";
import { splitPayload } from "./split.ts";

const NO_LIMIT = 1_000_000;
const SPACE = new Set(Buffer.from(" \t\r\n"));

/** What JSON.parse makes of bytes, or undefined when they are not JSON. */
function oracle(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString("utf8")) };
  } catch {
    return undefined;
  }
}

/** Whether the bytes are one JSON value and nothing else. */
function isOneValue(bytes: Buffer): boolean {
  const reading = readingValue(bytes, 0);
  let piece = reading.next();
  while (!piece.done) piece = reading.next();
  const end = piece.value;
  return end >= 0 && bytes.subarray(end).every((byte) => SPACE.has(byte));
}

const json = fc
  .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, "\t", "\r\n"))
  .map(([value, indent]) => Buffer.from(JSON.stringify(value, undefined, 1).replaceAll("\n ", `\n${indent ?? ""}`)));
/** Bytes with a meaning in JSON, and some without. */
const byte = fc.oneof(
  fc.constantFrom(...Buffer.from('[]{},:"\\ \t\r\n0123456789-+.eEtrufalsn/bF')),
  fc.nat({ max: 255 }),
);
const spot = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const change = fc.record({ at: spot, cut: fc.constantFrom(0, 0, 1, 2), put: fc.array(byte, { maxLength: 2 }) });
/** JSON with some bytes removed, inserted or exchanged. */
const nearlyJson = fc.tuple(json, fc.array(change, { maxLength: 3 })).map(([bytes, changes]) =>
  changes.reduce((changed, { at, cut, put }) => {
    const from = Math.floor(at * (changed.length + 1));
    return Buffer.concat([changed.subarray(0, from), Buffer.from(put), changed.subarray(from + cut)]);
  }, bytes),
);
const scraps = fc
  .array(fc.constantFrom("[", "]", "{", "}", ",", ":", '"', '"a"', "1", "-", "0.5e-3", "true", "nul", "\\u00", " "))
  .map((parts) => Buffer.from(parts.join("")));

describe("the scan accepts what JSON.parse does", () => {
  test.each([
    ...["", "-", "-0", "01", "1.", ".5", "1e", "1e+", "1E-05", "-1.5e3", "+1", "0x1", "1_0", "NaN", "Infinity"],
    ...["true", "tru", "truex", "nulll", "True", "undefined", "'a'", "\u00a01", "\ufeff1", "\u2028"],
    ...[
      '"',
      '"\\',
      '"\\"',
      '"\\\\"',
      '"\\u00e9"',
      '"\\u00g9"',
      '"\\u12"',
      '"\\u"',
      '"\\x"',
      '"\\\n"',
      '"\u0000"',
      '"\u001f"',
    ],
    ...['"\u007f"', '"\u2028"', "{}", "{", "}", "{,}", '{"a"}', '{"a":}', '{"a":1,}', '{"a" : 1 , "b":[]}', "{1:2}"],
    ...["[}", "{]", "[1 2]", "[[]", "[]]", '[{"a":1]}', "[] []", "//1", "[,1]", "[]\u000b"],
  ])("%j", (text) => {
    const bytes = Buffer.from(text);
    expect(isOneValue(bytes)).toBe(oracle(bytes) !== undefined);
  });

  test("of JSON, of damaged JSON, and of pieces of it", () => {
    let good = 0;
    fc.assert(
      fc.property(fc.oneof(nearlyJson, scraps), (bytes) => {
        const isJson = oracle(bytes) !== undefined;
        if (isJson) good++;
        expect(isOneValue(bytes)).toBe(isJson);
      }),
      { numRuns: 3_000 },
    );
    // Else the property would check one direction only.
    expect(good).toBeGreaterThan(300);
    expect(good).toBeLessThan(2_700);
  });

  test("of any nesting, each bracket with its own kind", () => {
    const kinds = fc.array(fc.boolean(), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(kinds, spot, fc.boolean(), (objects, at, isMixedUp) => {
        const opened = objects.map((isObject) => (isObject ? '{"":' : "["));
        const closed = objects.map((isObject) => (isObject ? "}" : "]")).reverse();
        const flipped = Math.floor(at * closed.length);
        if (isMixedUp) closed[flipped] = closed[flipped] === "}" ? "]" : "}";
        expect(isOneValue(Buffer.from(`${opened.join("")}0${closed.join("")}`))).toBe(!isMixedUp);
      }),
      { numRuns: 1_000 },
    );
  });

  test("an array is split into the elements that JSON.parse finds, or into lines when it is none", () => {
    const list = fc.array(json, { maxLength: 5 }).map((items) => {
      return Buffer.concat([
        Buffer.from("["),
        ...items.flatMap((item, n) => [Buffer.from(n ? "," : ""), item]),
        Buffer.from("]"),
      ]);
    });
    const changed = fc.tuple(list, fc.option(change)).map(([bytes, one]) => {
      if (one === null) return bytes;
      const from = 1 + Math.floor(one.at * bytes.length);
      return Buffer.concat([bytes.subarray(0, from), Buffer.from(one.put), bytes.subarray(from + one.cut)]);
    });
    fc.assert(
      fc.property(changed, (bytes) => {
        const parts = splitPayload(bytes, NO_LIMIT);
        const expected = oracle(bytes);
        if (expected === undefined) expect(parts).toBeInstanceOf(Array);
        else expect(Array.isArray(parts) && parts.map((part) => oracle(part)?.value)).toEqual(expected.value);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the cost of a payload does not depend on its content", () => {
  const LARGE = 12 * 1024 * 1024;
  const filled = (head: string, filling: string, tail: string) =>
    Buffer.concat([Buffer.from(head), Buffer.alloc(LARGE - (LARGE % filling.length), filling), Buffer.from(tail)]);
  /** The peak memory of this process, in MiB. */
  const peak = () => process.resourceUsage().maxRSS / 1024;
  /** Forgets the peak of whatever ran before, which would hide ours. Only Linux can. */
  const resetPeak = () => {
    if (existsSync("/proc/self/clear_refs")) writeFileSync("/proc/self/clear_refs", "5");
  };

  test.each([
    ["nothing but opening brackets", () => Buffer.alloc(LARGE, "["), 1],
    ["one deep element", () => Buffer.concat([Buffer.alloc(LARGE / 2, "["), Buffer.alloc(LARGE / 2, "]")]), 1],
    ["one element full of small ones", () => filled("[[{}", ",{}", "]]"), 1],
    ["too many small elements", () => filled("[{}", ",{}", "]"), "too-many-observations"],
    ["one object over two lines full of small ones", () => filled('{\n"a":[{}', ",{}", "]}"), 1],
  ])("%s", (_what, make, expected) => {
    const payload = make();
    resetPeak();
    const before = peak();
    const parts = splitPayload(payload, 50_000);
    expect("reason" in parts ? parts.reason : parts.length).toBe(expected);
    // As objects it would take ten times the memory, and block for seconds.
    expect(peak() - before).toBeLessThan(100);
  });
});
