import fc from "fast-check";
import { expect, test } from "vitest";
import type { Query } from "./query.ts";
import { readQuery } from "./read-query.ts";

const NOW = Date.parse("2026-11-20T14:30:00.500Z");
const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);

function read(text: string): Query {
  const result = readQuery(text, NOW);
  if ("errors" in result) throw new Error(JSON.stringify(result.errors));
  return result.query;
}

/** A query in brackets: what stands together is seen at once. */
function show(query: Query): string {
  switch (query.type) {
    case "and":
    case "or":
      return `(${query.of.map(show).join(query.type === "and" ? " & " : " | ")})`;
    case "not":
      return `!${show(query.of)}`;
    case "words":
      return `${query.field}~${query.words.join("+")}`;
    case "any":
      return `any~${query.words.join("+")}`;
    case "equals":
      return `${query.field}=${query.text}`;
    case "matches":
      return `${query.field}≈${query.pattern.map((part) => (typeof part === "string" ? part : part.wildcard)).join("")}`;
    case "range":
      return `${query.field}[${query.first}..${query.last}]`;
    case "port-protocol":
      return `port[${query.first}..${query.last}]/${query.protocol}`;
    case "exists":
      return `${query.field}?`;
    case "constant":
      return String(query.value);
  }
}

test.each([
  ["tags:a tags:b OR tags:c", "((tag=a & tag=b) | tag=c)"],
  ["tags:a OR tags:b tags:c", "(tag=a | (tag=b & tag=c))"],
  ["tags:a and not tags:b or tags:c", "((tag=a & !tag=b) | tag=c)"],
  ["-tags:a && !tags:b || NOT tags:c", "((!tag=a & !tag=b) | !tag=c)"],
  ["NOT NOT tags:a", "tag=a"],
  ["tags:(a OR (b -c))", "(tag=a | (tag=b & !tag=c))"],
  ["(tags:a OR tags:b) tags:c", "((tag=a | tag=b) & tag=c)"],
  ["country_code:TO", "country_code=to"],
  ['tags:"or"', "tag=or"],
  ["path:/wp-admin/x.php", "path=/wp-admin/x.php"],
  ["path:/admin/", "path=/admin/"],
  ["path:/a\\*b*", "path≈/a*b*"],
  ['path:"/a*b"', "path=/a*b"],
  ['useragent:"say \\"hi\\" \\\\ \\n"', "user_agent~say+hi+n"],
  ["organization:Microsoft", "organization~microsoft"],
  ["metadata.asn:AS4134 asn:4134", "(asn[4134..4134] & asn[4134..4134])"],
  ["SSH Scanner", "(any~ssh & any~scanner)"],
  ["CVE-2021-44228", "any~cve+2021+44228"],
  ["198.51.100.7", "ip[3325256711..3325256711]"],
  ["ip:198.51.100.7/24", "ip[3325256704..3325256959]"],
  ["ip:[198.51.100.1 TO 198.51.100.3}", "ip[3325256705..3325256706]"],
  ["port:[1 TO 1023]", "port[1..1023]"],
  ["port:{1 TO *]", "port[2..Infinity]"],
  ["metadata.sensor_hits:>=10", "sensor_hits[10..Infinity]"],
  ["port:445 protocol:tcp", "(port[445..445]/tcp)"],
  ["port:445 -protocol:tcp", "(port[445..445] & !protocol=tcp)"],
  ["port:445 (protocol:tcp)", "(port[445..445] & (protocol=tcp))"],
  ["port:22 port:23", "(port[22..22] & port[23..23])"],
  ["cve:* NOT tags:*", "(cve? & !tag?)"],
  ['country:""', "!country?"],
  ["riot:TRUE spoofable:false vpn:true", "(riot=true & true & false)"],
  ['metadata.os:Linux metadata.os:""', "(false & !false)"],
])("the query %s asks for %s", (text, expected) => {
  expect(show(read(text))).toBe(expected);
});

const [DAY, DAY_END] = [at("2026-11-19T00:00:00Z"), at("2026-11-19T23:59:59.999Z")];
test.each([
  ["2026-11-19", DAY, DAY_END],
  ["yesterday", DAY, DAY_END],
  ["1d", NOW - 24 * HOUR, Number.POSITIVE_INFINITY],
  ["<7d", Number.NEGATIVE_INFINITY, NOW - 168 * HOUR - 1],
  [">=2d", NOW - 48 * HOUR, Number.POSITIVE_INFINITY],
  ["[7d TO 1d]", NOW - 168 * HOUR, NOW - 24 * HOUR],
  [">=2026-11-19", DAY, Number.POSITIVE_INFINITY],
  [">2026-11-19", DAY_END + 1, Number.POSITIVE_INFINITY],
  ["<2026-11-19", Number.NEGATIVE_INFINITY, DAY - 1],
  ["<=2026-11-19", Number.NEGATIVE_INFINITY, DAY_END],
  ["[2026-11-19 TO 2026-11-19]", DAY, DAY_END],
  ["2026-11-19T14:00:00Z", at("2026-11-19T14:00:00Z"), at("2026-11-19T14:00:00.999Z")],
])("last_seen:%s is from its first moment to its last", (text, first, last) => {
  expect(read(`last_seen:${text}`)).toEqual({ type: "range", field: "last_seen", first, last });
});

test.each([
  ["clasification:malicious", 0, 13, 'no field is called "clasification". Did you mean "classification"?'],
  [
    "tags:a fingerprint:b",
    7,
    11,
    "fingerprint may be raw_data.ja3.fingerprint or raw_data.hassh.fingerprint: write more of it",
  ],
  ["port:http", 5, 4, '"http" does not fit: the field takes a whole number or a range of them'],
  ["classification:bad", 15, 3, '"bad" does not fit: the field takes malicious, suspicious, benign, unknown'],
  ["tags:a AND", 10, 0, "a condition is missing at the end"],
  ["AND tags:a", 0, 3, "a condition is missing before AND"],
  ["(tags:a", 0, 1, "this ( is never closed"],
  ["tags:a)", 6, 1, "this ) closes nothing"],
  ['tags:"a', 5, 1, "this quote is never closed"],
  ["port:[1 10]", 5, 1, "a range is written [1 TO 10], and {1 TO 10} without its bounds"],
  ["", 0, 0, "the query is empty"],
])("the query %s is wrong at its place", (text, position, length, message) => {
  expect(readQuery(text, NOW)).toEqual({ errors: [{ message, position, length }] });
});

test.each([["tags:mirai~"], ["tags:mirai^2"], ["tags:/mi.*ai/"], ['tags:"a b"~3']])("%s is refused by name", (text) => {
  const result = readQuery(text, NOW);
  expect("errors" in result ? result.errors[0]?.message : "").toMatch(/fuzzy|boost|regular expressions/);
});

test("all errors are told at once, in order", () => {
  const result = readQuery("prot:1 AND port:x OR colour:red~", NOW);
  expect("errors" in result ? result.errors.map(({ position }) => position) : []).toEqual([0, 16, 21, 31]);
});

test("limits are errors that name them", () => {
  const deep = `${"(".repeat(33)}tags:a${")".repeat(33)}`;
  for (const text of [deep, "a ".repeat(501), `"${"a".repeat(8_192)}"`]) {
    const result = readQuery(text, NOW);
    expect("errors" in result ? result.errors[0]?.message : "").toMatch(/32 levels|500 conditions|8192 characters/);
  }
  expect(readQuery(`${"(".repeat(32)}tags:a${")".repeat(32)}`, NOW)).toHaveProperty("query");
  expect(readQuery("a ".repeat(500), NOW)).toHaveProperty("query");
});

test("any text is read or is wrong at places that it has", () => {
  const piece = fc.constantFrom(
    ...'()[]{}"\\:*?~^<>=-!&| /',
    "AND ",
    "OR ",
    "TO ",
    "NOT ",
    "port",
    "tags:",
    "7d",
    "198.51.100.0/24",
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ unit: "grapheme" })), { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      const result = readQuery(text, NOW);
      if ("query" in result) return;
      expect(result.errors).not.toEqual([]);
      for (const { position, length, message } of result.errors) {
        expect(position).toBeGreaterThanOrEqual(0);
        expect(position + length).toBeLessThanOrEqual(text.length);
        expect(message).not.toMatch(/Expected/);
      }
    }),
    { numRuns: 2_000 },
  );
});
