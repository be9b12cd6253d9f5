import fc from "fast-check";
import { expect, test } from "vitest";
import type { Query } from "./query.ts";
import { readQuery } from "./read-query.ts";
import { quoteNames } from "./unquoted-names.ts";

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
    case "seen-on":
      return `days>=${query.minDays} since ${new Date(query.firstDay).toISOString()}`;
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
  ["path:'/a b' tags:“SSH Worm” tag:«x»", "(path=/a b & tag=ssh worm & tag=x)"],
  ["classification:'malicious' asn:‘AS1’", "(classification=malicious & asn[1..1])"],
  ["path:'it\\'s' path:'a'b' path:'x path:“y", "(path=it's & path=a'b & path='x & path=“y)"],
  ['useragent:"*curl *" rdns:"a\\*b" city:\'San*\'', "(user_agent≈*curl * & rdns~a+b & city≈san*)"],
  ["mobile:false metadata.tor:TRUE seen:true", "(true & false & true)"],
  ["internet_scanner_intelligence.tags.name:Mirai metadata.city:x", "(tag=mirai & city~x)"],
  ['useragent:"say \\"hi\\" \\\\ \\n"', "user_agent~say+hi+n"],
  ["organization:Microsoft", "organization~microsoft"],
  ["metadata.asn:AS4134 asn:4134", "(asn[4134..4134] & asn[4134..4134])"],
  ["seen_on:10/14", "days>=10 since 2026-11-07T00:00:00.000Z"],
  ["seen_on:1/1", "days>=1 since 2026-11-20T00:00:00.000Z"],
  ["seen_on:*", "true"],
  ["SSH Scanner", "(any~ssh & any~scanner)"],
  ["CVE-2021-44228", "any~cve+2021+44228"],
  ["198.51.100.7", "ip[3325256711..3325256711]"],
  ["::ffff:198.51.100.7 ip:::FFFF:c633:6407/120", "(ip[3325256711..3325256711] & ip[3325256704..3325256959])"],
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
  ["riot:TRUE spoofable:false vpn:true", "(riot=true & spoofable=false & false)"],
  ['metadata.os:Linux metadata.os:""', "(false & !false)"],
])("the query %s asks for %s", (text, expected) => {
  expect(show(read(text))).toBe(expected);
});

const [DAY, DAY_END] = [at("2026-11-19T00:00:00Z"), at("2026-11-19T23:59:59.999Z")];
test.each([
  ["2026-11-19", DAY, DAY_END],
  ["yesterday", DAY, DAY_END],
  ["1d", NOW - 24 * HOUR, Number.POSITIVE_INFINITY],
  ["30min", NOW - HOUR / 2, Number.POSITIVE_INFINITY],
  ["3m", NOW - 90 * 24 * HOUR, Number.POSITIVE_INFINITY],
  ["1Y", NOW - 365 * 24 * HOUR, Number.POSITIVE_INFINITY],
  ["999999y", 0, Number.POSITIVE_INFINITY],
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
  ["port:22-80", 5, 5, '"22-80" does not fit: a range is written [22 TO 80]'],
  ["asn:AS1,AS2", 4, 7, '"AS1,AS2" does not fit: one of several is written (AS1 OR AS2)'],
  [
    "last_seen:30m",
    10,
    3,
    '"30m" does not fit: m is a month of 30 days, at most 12; minutes are written 30min, hours 1h',
  ],
  ["+port:22", 0, 8, "a + is not needed: conditions beside each other must all hold"],
  ["*:*", 0, 3, "no wildcard stands for the name of a field: * alone is any address"],
  ["tag=mirai", 0, 9, "a colon stands between a field and its value, as in tags:mirai and port:>1023"],
  ["port:22 asn>=5", 8, 6, "a colon stands between a field and its value, as in tags:mirai and port:>1023"],
  ["path=/wp-*", 0, 10, "a colon stands between a field and its value, as in tags:mirai and port:>1023"],
  ["classification%3Amalicious", 0, 26, "the query was percent-encoded twice"],
  ["/mirai/", 0, 7, "regular expressions are not supported: write quotes around a text with slashes"],
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

test.each([
  ["a\\=b \\+x '/y/' “c=d” path:/z/", []],
  ["2001:db8::1", ["no IPv6 address is found: only IPv4 addresses are stored"]],
  ["fe80::/10 OR ip:2001:db8::1", ["no IPv6 address is found: only IPv4 addresses are stored"]],
  ["os:linux NOT os:windows", ["no address is found by os here"]],
  ['os:"" bot:false vpn:""', []],
  ["tor:true", ["tor is false for every address here"]],
  ["rdns:a%20b", ['"a%20b": the query was percent-encoded twice']],
  ['path:"*x*"', ['within quotes * is an ordinary character, as in "*x*": without them it stands for any characters']],
  [
    "198.51.100.7 198.51.100.8 198.51.100.9",
    ["no address is both 198.51.100.7 and 198.51.100.8: write OR between them to find either"],
  ],
  [
    "198.51.100.7,198.51.100.8",
    ['"198.51.100.7,198.51.100.8" is no address: one stands alone, and OR between several'],
  ],
  ["198.51.100.7 NOT (ip:198.51.100.0/24 tags:a) port:22 port:23", []],
  [
    "tags:a OR (first_seen:<7d (first_seen:1d))",
    ["no address matches both conditions on first_seen: write OR between them to find either"],
  ],
  [
    "classification:benign classification:malicious",
    ["no address is both benign and malicious: write OR between them to find either"],
  ],
])("of the query %s these conditions are told, which can match nothing: %j", (text, warnings) => {
  expect(readQuery(text, NOW)).toMatchObject({ warnings });
});

test.each([
  ["tags:SSH Worm", 'tags:"SSH Worm"'],
  ["NOT tags: SSH  Worm port:22", 'NOT tags: "SSH Worm" port:22'],
  ["(-tags:ssh worm) OR x", '(-tags:"ssh worm") OR x'],
  ["tag:(SSH Worm OR mirai)", 'tag:("SSH Worm" OR mirai)'],
  ["tag:(mirai SSH Worm)", 'tag:(mirai "SSH Worm")'],
  ["tags:POP3 and IMAP Scanner", 'tags:"POP3 and IMAP Scanner"'],
  ["tags:httpx (Probe) port:80", 'tags:"httpx (Probe)" port:80'],
  ["tags:httpx ( Probe )", undefined],
  ["tags:mirai Worm", undefined],
  ["tags:SSH AND Worm", undefined],
  ['tags:SSH "Worm"', undefined],
  ["tags:SSH Scanner", undefined],
  ["tags:SSH NOT Worm", undefined],
])("with a tag called SSH Worm, and none called SSH, and others alike, %s means %s", (text, expected = text) => {
  const names = new Set(["ssh worm", "mirai", "pop3 and imap scanner", "httpx (probe)"]);
  const isName = (_field: string, name: string) => names.has(name.toLowerCase());
  const result = readQuery(text, NOW);
  const unquoted = "unquoted" in result ? result.unquoted : [];
  expect(quoteNames(text, unquoted, { isWhole: isName, isMeant: isName })).toBe(expected);
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

const many = (count: number, condition: (number: number) => string) =>
  Array.from({ length: count }, (_, number) => condition(number)).join(" ");

test.each([
  ["organization:", `"${many(800, (number) => `w${number}`)}"`, "a value has at most 100 words, this one 800"],
  ["tags:", "*a".repeat(2_000), "a value has at most 100 wildcards, this one 2000"],
  ["path:", "?".repeat(200), "a value has at most 100 wildcards, this one 200"],
])("more after %s than the store could compare is an error at its place", (field, value, message) => {
  const text = `port:22 ${field}${value}`;
  expect(readQuery(text, NOW)).toEqual({
    errors: [{ message, position: 8 + field.length, length: value.length }],
  });
});

test("wildcards beside each other are one", () => {
  expect(readQuery(`path:a${"*".repeat(4_000)}b`, NOW)).toEqual(readQuery("path:a*b", NOW));
});

test("each port with each protocol beside it counts as a condition", () => {
  const pairs = (ports: number, protocols: number) =>
    readQuery(`${many(ports, (port) => `port:${port}`)} ${many(protocols, (one) => `protocol:p${one}`)}`, NOW);
  expect(pairs(250, 2)).toHaveProperty("query");
  const result = pairs(250, 240);
  expect("errors" in result ? result.errors : []).toEqual([
    expect.objectContaining({ message: expect.stringContaining("at most 500 conditions"), length: 13 }),
  ]);
});

test("the first unknown fields of a query get a suggestion, the others only their place", () => {
  const result = readQuery(
    many(20, (number) => `clasification${number}:x`),
    NOW,
  );
  const errors = "errors" in result ? result.errors : [];
  expect(errors).toHaveLength(20);
  expect(errors.map(({ message }) => message.includes("Did you mean"))).toEqual(errors.map((_, index) => index < 5));
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
