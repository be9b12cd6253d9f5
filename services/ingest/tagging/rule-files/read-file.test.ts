import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { readRuleFile } from "./read-file.ts";

const TAG = {
  slug: "panel-login",
  name: "Panel Login",
  category: "activity",
  intention: "malicious",
  description: "Posts to a panel.",
  match: { "path|contains": "/panel" },
  examples: [{ path: "/Panel/login" }],
  counterexamples: [{ path: "/" }],
};
const FILE = "rules/panel-login.yaml";

const lint = (tag: object) => readRuleFile(FILE, stringify(tag));
const messages = (tag: object, severity = "error") =>
  lint(tag)
    .problems.filter((problem) => problem.severity === severity)
    .map(({ message }) => message);
/** What is wrong with a match, beside its example. */
const wrongMatch = (match: unknown) =>
  messages({ ...TAG, match }).filter((message) => !message.startsWith("examples["));

test("a good file has its tag, its rule and no problem", () => {
  const { tags, problems } = lint({ ...TAG, cves: ["CVE-2017-9841"], references: ["https://example.org/a"] });
  expect(problems).toEqual([]);
  expect(tags).toMatchObject([
    { entry: { slug: "panel-login", cves: ["CVE-2017-9841"] }, rule: { slug: "panel-login" } },
  ]);
});

test("a tag without a rule comes from senders only, and needs no example", () => {
  const { match: _match, examples: _examples, counterexamples: _counterexamples, ...tag } = TAG;
  expect(lint(tag)).toMatchObject({ problems: [], tags: [{ rule: undefined }] });
  expect(messages({ ...tag, examples: TAG.examples })).toEqual(["has examples, but no match: a rule needs both"]);
});

test("a file may also hold a list of tags, and each error names its tag", () => {
  const other = { ...TAG, slug: "other", intention: "evil" };
  const { tags, problems } = readRuleFile("rules/many.yaml", stringify({ tags: [TAG, other] }));
  expect(tags.map(({ entry }) => entry.slug)).toEqual(["panel-login"]);
  expect(problems.map(({ message }) => message)).toEqual([
    "other: intention: must be one of benign, unknown, suspicious, malicious",
  ]);
});

test("text that is no YAML is an error with its line", () => {
  const [problem] = readRuleFile(FILE, "slug: a\nname: [b\n").problems;
  expect(problem?.message).toMatch(/^line \d+, column \d+: /);
  expect(readRuleFile(FILE, "slug: a\nslug: b\n").problems[0]?.message).toContain("line 2");
});

test("aliases that would unfold to a million values are refused", () => {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 8; level++) {
    lines.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(", ")}]`,
    );
  }
  expect(readRuleFile(FILE, lines.join("\n")).problems[0]?.message).toContain("alias");
});

describe("errors of the tag", () => {
  test.each([
    [
      "another slug than the file's name",
      { slug: "other" },
      /^slug: is "other", so the file's name must be other\.yaml$/,
    ],
    ["an unknown member", { severity: "high" }, /unknown members: "severity"; a tag has id, label, slug, .*examples/],
    [
      "an unknown category",
      { category: "thing" },
      /^category: must be one of activity, tool, worm, actor, search_engine$/,
    ],
    ["an unknown intention", { intention: "evil" }, /^intention: must be one of benign/],
    ["no description", { description: undefined }, /^description: is missing$/],
    ["a reference that is no URL", { references: ["file:///etc"] }, /^references\.0: takes http and https URLs$/],
    ["a CVE of another form", { cves: ["2017-9841"] }, /^cves\.0: not a CVE id$/],
    ["no example", { examples: [] }, /^examples: a rule needs at least one$/],
    [
      "an example that does not match",
      { examples: [{ path: "/x" }] },
      /^examples\[1\]: the rule does not match \{"path":"\/x"\}$/,
    ],
    [
      "a counterexample that matches",
      { counterexamples: [{ path: "/panel" }] },
      /^counterexamples\[1\]: the rule matches /,
    ],
    [
      "an example with an unknown field",
      { examples: [{ pth: "/panel" }] },
      /^examples\[1\]: there is no field "pth"; fields are transport, /,
    ],
    [
      "an example that no sensor can send",
      { examples: [{ path: "/panel", application: "HTTP" }] },
      /^examples\[1\]: application: must be a lower-case/,
    ],
  ])("%s", (_what, change, message) => {
    expect(messages({ ...TAG, ...change })).toEqual([expect.stringMatching(message)]);
    expect(lint({ ...TAG, ...change }).tags).toEqual([]);
  });
});

describe("errors of the match", () => {
  test.each([
    ["an unknown field", { pth: "x" }, /^pth: there is no field "pth"; fields are transport, /],
    [
      "an unknown modifier",
      { "path|endwith": "x" },
      /^path\|endwith: there is no modifier "endwith"; modifiers are contains, /,
    ],
    [
      "a text's modifier on a number",
      { "destination_port|contains": 22 },
      /is a number and takes no modifier "contains", only lt, lte, gt, gte, exists$/,
    ],
    ["a number's modifier on a text", { "path|gte": 1 }, /path is a text and takes no modifier "gte", only contains, /],
    ["cidr on a text", { "path|cidr": "10.0.0.0/8" }, /path is a text and takes no modifier "cidr"/],
    [
      "raw on a field that is not decoded",
      { "label|raw": "x" },
      /"raw" is for the fields that are URL-decoded: host, path, query, /,
    ],
    ["a modifier twice", { "path|contains|contains": "x" }, /the modifier "contains" stands twice/],
    ["two comparisons", { "path|contains|re": "x" }, /"contains" and "re" cannot be combined/],
    ["cased on a number", { "asn|cased": 1 }, /the modifier "cased" is for texts, and asn is a number/],
    ["all with one value", { "path|contains|all": "x" }, /"all" takes a list of at least two values/],
    [
      "all of several values that one path should equal",
      { "path|all": ["a", "b"] },
      /only one, which cannot equal all/,
    ],
    ["an empty value", { path: "" }, /path: has an empty value; "path\|exists: false" asks/],
    ["no value", { path: null }, /path: has an empty value/],
    ["an empty list", { path: [] }, /path: the list is empty/],
    ["a number as a text", { username: 123456 }, /takes a text: write "123456" in quotes/],
    ["a text as a number", { destination_port: "22" }, /takes a whole number/],
    ["a port that there is not", { destination_port: 70_000 }, /70000 is not between 0 and 65535/],
    ["several limits", { "asn|lt": [1, 2] }, /takes one number, no list/],
    ["exists with a text", { "path|exists": "yes" }, /takes true or false/],
    ["exists with another modifier", { "path|exists|cased": true }, /exists takes no other modifier/],
    ["a network without cidr", { source_ip: "9.0.0.0/8" }, /for networks write source_ip\|cidr/],
    [
      "a network with bits after its prefix",
      { "source_ip|cidr": "9.1.0.0/8" },
      /"9\.1\.0\.0\/8": address has bits set/,
    ],
    ["a transport that there is not", { transport: "tpc" }, /"tpc" can never match; it takes tcp, udp, icmp, sctp/],
    ["a bad regular expression", { "path|re": "(a" }, /"\(a" is not a regular expression of RE2: missing closing \)/],
    ["a look-ahead", { "path|re": "(?=a)b" }, /is not a regular expression of RE2/],
    [
      "a regular expression that compiles to too much",
      { "path|re": "(?:a?){400}a{400}" },
      /is too large: it compiles to \d+ instructions, at most 500/,
    ],
    ["no field", {}, /^match: takes a map of fields like/],
    ["a list of keywords", ["panel"], /^match\[1\]: takes a map of fields/],
    ["an observation that says nothing", { "path|exists": false }, /it holds of an observation that says nothing/],
  ])("%s", (_what, match, message) => {
    expect(wrongMatch(match)).toEqual([expect.stringMatching(message)]);
    expect(lint({ ...TAG, match }).tags).toEqual([]);
  });
});

describe("errors of a condition", () => {
  const sel = { "path|contains": "/panel" };
  test.each([
    [
      "an unknown selection",
      { condition: "sel and filter", sel },
      /^condition: there is no selection "filter"; selections are sel$/,
    ],
    [
      "a pattern without a selection",
      { condition: "sel or 1 of f*", sel },
      /^condition: "1 of f\*": no selection has such a name$/,
    ],
    [
      "a selection that is not used",
      { condition: "sel", sel, filter: sel },
      /^condition: the selection "filter" is never used$/,
    ],
    ["an open bracket", { condition: "(sel", sel }, /^condition: a bracket is not closed$/],
    ["an end too early", { condition: "sel and", sel }, /^condition: ends where a selection is expected$/],
    ["two names without a word between", { condition: "sel sel", sel }, /^condition: "sel" stands where and, or/],
    [
      "a number that Sigma has not",
      { condition: "2 of them", sel },
      /^condition: takes "1 of", "any of" and "all of", not "2 of"$/,
    ],
    ["no text", { condition: 1, sel }, /^condition: takes a text like/],
    [
      "brackets of brackets of brackets",
      { condition: `${"(".repeat(40)}sel${")".repeat(40)}`, sel },
      /nested more than 32 levels/,
    ],
    ["a name that is none", { condition: "sel", sel, "my sel": sel }, /"my sel" is no name of one/],
  ])("%s", (_what, match, message) => {
    expect(wrongMatch(match)[0]).toMatch(message);
    expect(lint({ ...TAG, match }).tags).toEqual([]);
  });
});

test('"them" leaves out selections whose names begin with _', () => {
  const match = {
    condition: "1 of them and not _own",
    sel: { "path|contains": "/panel" },
    _own: { "path|contains": "/x" },
  };
  expect(messages({ ...TAG, match, counterexamples: [{ path: "/x" }] })).toEqual([]);
  expect(messages({ ...TAG, match: { ...match, condition: "1 of them" } })).toEqual([
    'condition: the selection "_own" is never used',
  ]);
});

test("all errors of a file are listed, with the selection that they are in", () => {
  const match = { condition: "one or two", one: { pth: "x" }, two: [{ path: "" }, { "asn|re": "x" }] };
  expect(wrongMatch(match)).toEqual([
    expect.stringMatching(/^one: pth: /),
    expect.stringMatching(/^two\[1\]: path: has an empty value/),
    expect.stringMatching(/^two\[2\]: asn\|re: /),
  ]);
});

test.each([
  ["no counterexample", { counterexamples: [] }, /^counterexamples: the rule has none$/],
  [
    "a URL-encoded value of a decoded field",
    { match: [TAG.match, { path: "/%2e%2e" }] },
    /is URL-encoded, but path is decoded/,
  ],
  ["a star that is none", { match: [TAG.match, { "path|contains": "a*b" }] }, /the \* in "a\*b" stands for itself/],
  ["a regular expression without fixed text", { match: [TAG.match, { "path|re": "[a-z]+" }] }, /has no fixed text/],
])("a warning leaves the rule in use: %s", (_what, change, message) => {
  expect(messages({ ...TAG, ...change }, "warning")).toEqual([expect.stringMatching(message)]);
  expect(lint({ ...TAG, ...change }).tags).toHaveLength(1);
});

test("an example gives a request's target as a whole, or path and query", () => {
  const match = { path: "/a", query: "b=?c" };
  const tag = { ...TAG, match: { path: "/a", "query|contains": "b=" } };
  expect(messages({ ...tag, examples: [{ uri: "/a?b=?c" }, { path: "/a", query: "b=?c" }] })).toEqual([]);
  expect(messages({ ...tag, match, examples: [{ uri: "/a?b=xc" }] })).toEqual([]);
  expect(messages({ ...tag, examples: [{ uri: "/a?b=", path: "/a" }] })[0]).toContain(
    "uri, or path and query, not both",
  );
});
