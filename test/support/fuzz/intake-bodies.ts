import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { broken, CONTENT_TYPES, withOtherHeader } from "./bodies.ts";
import type { Described, Schema } from "./described-values.ts";
import type { Payload } from "./drafts.ts";
import { wildText } from "./wild-text.ts";

/** Invalid values for members of an observation. */
const wrongValue: fc.Arbitrary<unknown> = fc.oneof(
  wildText,
  fc.constantFrom<unknown[]>(null, true, -1, 0, 1.5, 65_535, 65_536, 4_294_967_296, 2 ** 53, 1e308, [], {}, [null]),
  fc.constantFrom<unknown[]>("x".repeat(33), "x".repeat(65), "x".repeat(129), "x".repeat(257), "x".repeat(2_049)),
  fc.constantFrom(
    "2026-02-30T00:00:00Z",
    "2026-01-01",
    "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "0000-01-01T00:00:00Z",
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Lines that are not observations. None starts like an array, which would be another format. */
const GARBAGE = [
  ...[
    "{}",
    "null",
    "1",
    "true",
    '"text"',
    "{",
    "}",
    '{"a":1',
    "-0",
    "1e999",
    "NaN",
    "\ufeff{}",
    "{'a':1}",
    "\0",
    "\u2028",
  ],
  ...[
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}}}',
    '{"source_ip":1,"source_ip":2}',
  ],
  ...[
    "SELECT",
    "a,b,c",
    "--",
    "# comment",
    '{"metadata":'.repeat(500),
    `{"metadata":{"a":"${"x".repeat(9_000)}"}}`,
    "😀",
  ],
] as const;
const GARBAGE_BYTES = [
  Buffer.from([0xff, 0xfe, 0x00]),
  Buffer.from('{"sensor_id":"\xe9"}', "latin1"),
  Buffer.alloc(70_000, "x"),
];

/** Members that are rejected for a reason of their own: too old, in the future, too long. */
const REJECTED_MEMBERS = [
  { observed_at: "1970-01-01T00:00:00Z" },
  { observed_at: "9999-12-31T23:59:59Z" },
  { sensor_id: "x".repeat(129) },
] as const;

/** Members that every object has and no schema names. */
function mutated(observation: fc.Arbitrary<object>, members: readonly string[]): fc.Arbitrary<object> {
  const name = fc.constantFrom(...members, "unknown", "__proto__x", "constructor", "");
  return fc.oneof(
    fc.tuple(observation, name, wrongValue).map(([value, member, wrong]) => ({ ...value, [member]: wrong })),
    fc.tuple(observation, fc.constantFrom(...REJECTED_MEMBERS)).map(([value, other]) => ({ ...value, ...other })),
    fc
      .tuple(observation, name)
      .map(([value, member]) => Object.fromEntries(Object.entries(value).filter(([other]) => other !== member))),
  );
}

/** Observations as described and otherwise, in each format that the intake accepts, intact and damaged. */
export function intakeBodies(
  observation: Schema,
  described: Described,
): { plain: fc.Arbitrary<Payload>; odd: fc.Arbitrary<Payload> } {
  const good = described
    .of(observation)
    .filter((value): value is object => typeof value === "object" && value !== null);
  const members = Object.keys(described.resolve(observation).properties ?? {});
  const asJson = (value: unknown) => Buffer.from(JSON.stringify(value));
  const goodRecord = good.map(asJson);
  const jsonRecord = fc.oneof(
    { weight: 3, arbitrary: goodRecord },
    { weight: 2, arbitrary: mutated(good, members).map(asJson) },
  );
  const garbage = fc.oneof(
    fc.constantFrom(...GARBAGE).map((text) => Buffer.from(text)),
    fc.constantFrom(...GARBAGE_BYTES),
    wildText
      .map((text) => Buffer.from(text))
      .filter((bytes) => !/^\s*(?:\[|$)|^\s|\s$|\n/.test(bytes.toString("latin1"))),
  );
  const list = <T>(item: fc.Arbitrary<T>, most: number) => fc.array(item, { minLength: 1, maxLength: most });
  const line = fc.oneof({ weight: 3, arbitrary: jsonRecord }, { weight: 1, arbitrary: garbage });

  const plain = fc.oneof(
    list(goodRecord, 4).map(asArray),
    list(goodRecord, 4).map((records) => asLines(records, "\n")),
  );
  const mixed = fc.oneof(
    list(jsonRecord, 8).map(asArray),
    fc.tuple(list(line, 8), fc.constantFrom("\n", "\r\n", "\n\n \n")).map(([records, end]) => asLines(records, end)),
    // More than an answer lists one by one.
    fc
      .tuple(garbage, fc.integer({ min: 90, max: 130 }))
      .map(([record, times]) => asLines(Array(times).fill(record), "\n")),
  );
  const wrapped = fc
    .tuple(mixed, fc.constantFrom("application/x-ndjson", ...CONTENT_TYPES), fc.boolean())
    .map(([sent, type, isPacked]): Payload => {
      const headers = { "content-type": type };
      if (!isPacked) return { ...sent, headers };
      return {
        ...sent,
        bytes: gzipSync(sent.bytes, { level: 1 }),
        headers: { ...headers, "content-encoding": "gzip" },
      };
    });
  const tooMany = fc.constant<Payload>({ bytes: Buffer.alloc(2 * 50_001, "1\n"), headers: {}, expects: "rejected" });
  return {
    plain,
    odd: fc.oneof(
      { weight: 20, arbitrary: wrapped },
      { weight: 6, arbitrary: broken(wrapped) },
      { weight: 6, arbitrary: withOtherHeader(mixed) },
      { weight: 1, arbitrary: tooMany },
      { weight: 1, arbitrary: fc.constant(UNKNOWN_ENCODING) },
      { weight: 2, arbitrary: fc.constantFrom("", " ", "\n\n", "[", "[1", "[1,]", "[[", "]").map(nothing) },
    ),
  };
}

export const UNKNOWN_ENCODING: Payload = {
  bytes: Buffer.from("{}"),
  headers: { "content-encoding": "br" },
  expects: "rejected",
};

/** Without a record, or truncated. */
function nothing(text: string): Payload {
  return { bytes: Buffer.from(text), headers: {}, expects: text === "]" ? "anything" : "rejected" };
}

function asArray(records: readonly Buffer[]): Payload {
  const bytes = Buffer.concat([
    Buffer.from("[ "),
    ...records.flatMap((record, index) => [Buffer.from(index > 0 ? " ,\n" : ""), record]),
    Buffer.from("]"),
  ]);
  return { bytes, headers: { "content-type": "application/json" }, expects: "accepted", records };
}

function asLines(records: readonly Buffer[], end: string): Payload {
  const bytes = Buffer.concat(records.flatMap((record) => [record, Buffer.from(end)]));
  return { bytes, headers: { "content-type": "application/x-ndjson" }, expects: "accepted", records };
}
