import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRecord, splitMessage, splitPayload } from "./split.ts";

const NO_LIMIT = 1_000_000;

/** The records of a payload as text, or the reason why it cannot be split. */
function split(payload: string, mostRecords = NO_LIMIT): string[] | string {
  const parts = splitPayload(Buffer.from(payload), mostRecords);
  return "reason" in parts ? parts.reason : parts.map((part) => part.toString());
}

function parse(record: string): unknown {
  const parsed = parseRecord(Buffer.from(record));
  return "value" in parsed ? parsed.value : parsed.reason;
}

const repeated = (text: string, count: number) => Array.from({ length: count }, () => text);
const whiteSpace = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
/**
 * Strings with brackets, commas, quotes, backslashes and characters of several bytes, which could confuse a splitter.
 */
const trickyText = fc
  .array(fc.constantFrom("[", "]", "{", "}", ",", '"', "\\", "\n", "\u00e9", "\u{1f600}", "x"))
  .map((parts) => parts.join(""));
const element = fc
  .tuple(
    fc.oneof(
      fc.jsonValue(),
      trickyText,
      fc.dictionary(trickyText, fc.array(trickyText, { maxLength: 3 }), { maxKeys: 3 }),
    ),
    fc.constantFrom(undefined, 2, "\t"),
  )
  .map(([value, indent]) => JSON.stringify(value, undefined, indent));

describe("a payload is split into its records", () => {
  test("one object is one record", () => {
    expect(split('{"a":1}')).toEqual(['{"a":1}']);
    expect(split(' \r\n\t{"a":[1,2]}\n ')).toEqual(['{"a":[1,2]}']);
    expect(split('\ufeff{"a":1}'), "after a byte order mark").toEqual(['{"a":1}']);
  });

  test("one object written over several lines is one record", () => {
    const pretty = JSON.stringify({ a: { b: [1, { c: "}" }] }, d: "x" }, undefined, 2);
    expect(split(pretty)).toEqual([pretty]);
    expect(split(`${pretty.replaceAll("\n", "\r\n")}\r\n`)).toEqual([pretty.replaceAll("\n", "\r\n")]);
  });

  test("lines are records, whatever ends them, and blank ones are not", () => {
    expect(split('{"a":1}\n{"b":2}')).toEqual(['{"a":1}', '{"b":2}']);
    expect(split('\n{"a":1}\r\n\r\n  \t\n{"b":2}\r\n')).toEqual(['{"a":1}', '{"b":2}']);
  });

  test("a bad line does not affect its neighbours", () => {
    expect(split('{"a":1}\n{"b":\n{"c":3}')).toEqual(['{"a":1}', '{"b":', '{"c":3}']);
  });

  test("objects over several lines and several on one line are records each", () => {
    const pretty = [{ a: { b: [1] } }, { c: 2 }].map((record) => JSON.stringify(record, undefined, 2));
    expect(split(pretty.join("\n"))).toEqual(pretty);
    expect(split(`{"x":1}\n${pretty.join("\r\n")}{"y":1}{"z":"}{"}\n{"torn":`)).toEqual([
      '{"x":1}',
      ...pretty,
      ...['{"y":1}', '{"z":"}{"}', '{"torn":'],
    ]);
  });

  test("the hits of a search answer are records, of any size", () => {
    const hits = Array.from({ length: 20_000 }, (_, index) => JSON.stringify({ _id: index, _source: { a: [1] } }));
    const answer = (list: string) => `{"took":1,"hits":{"total":{"value":9},"hits":[${list}]}}`;
    expect(split(answer(hits.join()))).toEqual(hits);
    expect(split(answer(hits.join()), 10_000)).toBe("too-many-observations");
    expect(split(answer(""))).toEqual([]);
  });

  test("a kernel's line begins with its time in brackets, and is no array", () => {
    const lines = ["[    1.234567] IN=eth0", "[12345.678901] IN=eth1"];
    expect(split(lines.join("\n"))).toEqual(lines);
    expect(split("[Fri Nov 20 14:03:09 2026] IN=eth0")).toEqual(["[Fri Nov 20 14:03:09 2026] IN=eth0"]);
  });

  const LINES = ['{"a":1}', "192.0.2.1 - - GET /", '{"b":2}'];
  test.each([
    "[Sun Nov 29 01:00:00.123456 2026] [core:error] AH00126: Invalid URI",
    "[0] cowrie: [1764400000.000000000, {}]",
    "[29/Nov/2026:01:00:00 +0000] - 200",
    '["torn',
    "[]]",
    '{"torn":',
    '"',
    "{core} up",
  ])("a first line like %s costs none of the lines after it, nor does one among them", (line) => {
    expect(split([line, ...LINES].join("\n"))).toEqual([line, ...LINES]);
    expect(split([...LINES, line, ...LINES].join("\n"))).toEqual([...LINES, line, ...LINES]);
  });

  test.each([
    ['[{"a":1},', ['{"a":1}']],
    ['[{"a":1},{"b":', ['{"a":1}', '{"b":']],
    ['[\n{"a":1},\n{"b":,\n{"c":3}\n]', ['{"a":1}', '{"b":,', '{"c":3}']],
    ['[{"a":1}]]', ['{"a":1}', "]"]],
    ['[{"a":1}]\n{"b":2}', ['{"a":1}', '{"b":2}']],
    ["[x]", ["[x]"]],
  ])("of an array that breaks off, or that something follows, like %j, each record is read", (payload, records) => {
    expect(split(payload)).toEqual(records);
  });

  test("the elements of an array are records, whatever brackets, commas and quotes are inside them", () => {
    expect(split('[{"a":[1,[2,{}]],"b":{"c":"],[{\\",\\\\"}}, [3,[4]] ,"x,]","\\\\",{} ]')).toEqual([
      '{"a":[1,[2,{}]],"b":{"c":"],[{\\",\\\\"}}',
      "[3,[4]]",
      '"x,]"',
      '"\\\\"',
      "{}",
    ]);
    expect(split("[]")).toEqual([]);
    expect(split(" [ \n ] ")).toEqual([]);
  });

  test("the elements of any array come out one by one, in order, in the very bytes they were sent in", () => {
    const array = fc.array(fc.tuple(whiteSpace, element, whiteSpace), { maxLength: 8 });
    fc.assert(
      fc.property(array, whiteSpace, (elements, around) => {
        const payload = `${around}[${elements.map((parts) => parts.join("")).join(",")}]${around}`;
        const texts = elements.map(([, text]) => text);
        expect(split(payload)).toEqual(texts);
        expect(texts.map(parse)).toEqual(texts.map((text): unknown => JSON.parse(text)));
      }),
      { numRuns: 500 },
    );
  });

  test("any lines of JSON come out one by one as they were sent", () => {
    const line = fc.dictionary(trickyText, fc.jsonValue(), { maxKeys: 4 }).map((value) => JSON.stringify(value));
    const lines = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\n\n", " \n")), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(lines, (sent) => {
        expect(split(sent.map((parts) => parts.join("")).join(""))).toEqual(sent.map(([text]) => text));
      }),
    );
  });

  test("bytes that are not UTF-8 reach the dead letter unchanged", () => {
    const bad = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
    const parts = splitPayload(Buffer.concat([Buffer.from('{"a":1}\n'), bad, Buffer.from("\n")]), NO_LIMIT);
    expect(parts).toEqual([Buffer.from('{"a":1}'), bad]);
  });
});

describe("a payload that cannot be split is rejected as a whole", () => {
  test.each(["", " ", "\r\n\t\n"])("%j is empty", (payload) => {
    expect(splitMessage(Buffer.from(payload))).toEqual({ reason: "not-json", detail: "the payload is empty" });
  });

  test("a message carries up to 1,000 observations, as an array or as lines", () => {
    for (const join of [(parts: string[]) => `[${parts.join(",")}]`, (parts: string[]) => parts.join("\n")]) {
      expect(splitMessage(Buffer.from(join(repeated('{"a":1}', 1_000))))).toHaveLength(1_000);
      expect(splitMessage(Buffer.from(join(repeated('{"a":1}', 1_001))))).toEqual({
        reason: "too-many-observations",
        detail: "the payload has more than 1000 records",
      });
    }
  });

  test("another source may set another limit", () => {
    expect(split("[1,2,3]", 3)).toHaveLength(3);
    expect(split("[1,2,3]", 2)).toBe("too-many-observations");
  });
});

describe("a record", () => {
  test("may have 64 KiB, and is oversize with one byte more, even if it is valid JSON", () => {
    const whole = `"${"x".repeat(65_534)}"`;
    expect(parse(whole)).toBe("x".repeat(65_534));
    expect(parse(`"x${whole.slice(1)}`)).toBe("oversize");
  });

  test("is measured in bytes, not in characters", () => {
    expect(parse(`"${"\u00e9".repeat(32_767)}"`)).toBe("\u00e9".repeat(32_767));
    expect(parse(`"${"\u00e9".repeat(32_768)}"`)).toBe("oversize");
  });

  test.each(["{", "{'a':1}", "undefined", "NaN", '{"a":1}{"b":2}', "\ufeff{}"])("%j is no JSON", (record) => {
    expect(parse(record)).toBe("not-json");
  });
});
