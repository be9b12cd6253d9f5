import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { isPlainObservation, toCode } from "./compiled-schema.ts";
import { observationSchema } from "./schema.ts";

const MINIMAL = { observed_at: "2026-11-20T13:59:59Z", sensor_id: "sensor-1", source_ip: "45.83.64.1" };
const MEMBERS = Object.keys(observationSchema.shape);

const LENGTHS = [
  0, 1, 2, 31, 32, 33, 64, 65, 128, 129, 255, 256, 257, 512, 513, 1_024, 1_025, 2_048, 2_049, 4_096, 4_097,
];
const TEXTS = [
  ...LENGTHS.flatMap((length) => ["x".repeat(length), "\u{1f600}".repeat(length)]),
  ...["\ud800", "a\udc00b", "a\nb", "\u0085", "0", "14061", "AS14061", "as1", "DE", "de", "tcp", "global", "personal"],
  ...["2026-11-20T14:03:09.5Z", "2026-11-20T14:03:09+05:30", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
  ...["2026-11-20 14:03:09Z", "2026-11-20T14:03:09", "2026-11-20T24:00:00Z", "0a".repeat(32), "0A".repeat(32)],
];
const PORTS_AND_COUNTS = [0, -0, 1, -1, 1.5, 65_535, 65_536, 1e6, 1e6 + 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53];
const DEGREES = [-181, -180, -91, -90.5, -90, 90, 90.5, 91, 180, 180.5, 181];
const NUMBERS = [...PORTS_AND_COUNTS, ...DEGREES, Number.POSITIVE_INFINITY];
const SCALARS: readonly unknown[] = [...TEXTS, ...NUMBERS, true, false, null, undefined];
/** Every kind of value, at and beyond each limit of the schema, but the inner members of http, tls and ssh. */
const OUTER_VALUES: readonly unknown[] = [
  ...SCALARS,
  ...SCALARS.flatMap((value) => [[value], [value, value], { username: value }, { password: value, other: 1 }]),
  ...[32, 33, 64, 65].flatMap((length) => [Array(length).fill("a"), Array(length).fill({}), Array(length).fill(1)]),
  ...[[], [{}], [[]], {}, { a: { b: [1, null] } }],
  ...[{ username: "root", password: "" }].flatMap((login) => [login, [login], [login, { ...login, user: "" }]]),
];
const VALUES: readonly unknown[] = [
  ...OUTER_VALUES,
  ...["method", "host", "path", "query", "user_agent", "referer", "body", "headers", "cookies", "header_lines"].flatMap(
    (name) =>
      [...SCALARS, ...TEXTS.flatMap((text) => [[text], [text, text]]), [1], [null]].map((value) => ({ [name]: value })),
  ),
  ...["ja3", "ja4", "hassh", "banner", "version"].flatMap((name) => SCALARS.map((value) => ({ [name]: value }))),
];

/** What zod makes of a value; undefined when the schema does not allow it. */
const parse = (value: unknown) => observationSchema.safeParse(value).data;
const withTags = (value: object) => ({ ...value, tags: ("tags" in value ? value.tags : undefined) ?? [] });

test("each member with each kind of value is plain exactly when zod accepts it and changes nothing", () => {
  let plain = 0;
  for (const name of MEMBERS) {
    const takesObjects = parse({ ...MINIMAL, [name]: {} }) !== undefined;
    for (const member of takesObjects ? VALUES : OUTER_VALUES) {
      const value = { ...MINIMAL, [name]: member };
      const parsed = parse(value);
      const isUnchanged = parsed !== undefined && Object.is(parsed.asn, "asn" in value ? value.asn : undefined);
      if (isPlainObservation(value) !== isUnchanged) expect.fail(`${name}: ${JSON.stringify(member)}`);
      if (!isUnchanged) continue;
      plain++;
      expect(withTags(value)).toEqual(parsed);
    }
  }
  expect(plain).toBeGreaterThan(MEMBERS.length);
});

test("what is no observation is not plain", () => {
  for (const value of [...VALUES, [MINIMAL], { ...MINIMAL, sensor: "x" }, { ...MINIMAL, constructor: 1 }]) {
    expect(isPlainObservation(value)).toBe(false);
  }
});

test("an observation with many members is plain when each of them is", () => {
  const member = fc.tuple(fc.constantFrom(...MEMBERS), fc.constantFrom(...VALUES));
  const good = member.filter(([name, value]) => isPlainObservation({ ...MINIMAL, [name]: value }));
  fc.assert(
    fc.property(fc.array(good, { maxLength: 20 }), fc.option(member), (members, other) => {
      const value = { ...MINIMAL, ...Object.fromEntries(other === null ? members : [...members, other]) };
      const isPlain = other === null || isPlainObservation({ ...MINIMAL, [other[0]]: other[1] });
      expect(isPlainObservation(value)).toBe(isPlain);
      if (isPlain) expect(withTags(value)).toEqual(parse(value));
    }),
  );
});

test("a schema is compiled with its refinements, and not at all when one of its checks would be left out", () => {
  const short = z.string().max(3);
  const isPlain = toCode(z.strictObject({ a: short.refine((text) => text !== "no") }));
  expect(["yes", "no", "long"].map((a) => isPlain({ a }))).toEqual([true, false, false]);
  const added = short.check(({ value, issues }) => void issues.push({ code: "custom", input: value }));
  for (const a of [short.trim(), added]) expect(() => toCode(z.strictObject({ a }))).toThrow("is left out");
});
