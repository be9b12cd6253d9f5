import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import { readRuleFile } from "@noisefloor/ingest/tagging/rule-files/read-file.ts";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { convertCrowdsec } from "./convert.ts";

const clause = (zone: string, type: string, value: unknown, more: object = {}) => ({
  zones: [zone],
  transform: ["lowercase", "urldecode"],
  match: { type, value },
  ...more,
});
const FILE = {
  name: "example/vpatch-panel",
  description: "Example Panel traversal",
  labels: {
    type: "exploit",
    confidence: 3,
    label: "Example Panel - Traversal",
    classification: ["cve.CVE-2026-10001", "attack.T1190"],
  },
};

function convert(...rules: readonly unknown[]) {
  const converted = convertCrowdsec(stringify({ ...FILE, rules }));
  if (typeof converted === "string") throw new Error(converted);
  const { tags, problems } = readRuleFile(`${converted.slug}.yaml`, converted.text);
  const { tagsFor } = createTagger(tags.flatMap(({ rule }) => rule ?? []));
  return { entry: tags[0]?.entry, problems, matches: (http: object) => tagsFor({ http }).length === 1 };
}

test("a rule becomes a file of ours that passes lint, with an example of its own values", () => {
  const { entry, problems, matches } = convert({
    and: [
      clause("METHOD", "equals", "GET", { transform: [] }),
      clause("URI", "endsWith", "/panel/view"),
      clause("ARGS", "contains", "../", { variables: ["file"] }),
    ],
  });
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(entry).toMatchObject({
    slug: "crowdsec-vpatch-panel",
    name: "Example Panel - Traversal",
    intention: "malicious",
    cves: ["CVE-2026-10001"],
    description: expect.stringMatching(/Imported from the CrowdSec rule example\/vpatch-panel\.$/),
  });
  expect(matches({ method: "GET", path: "/a/Panel/view", query: "x=1&file=a/%2e./b" })).toBe(true);
  expect(matches({ method: "GET", path: "/a/panel/view", query: "file=b&other=../" })).toBe(false);
  expect(matches({ method: "get", path: "/a/panel/view", query: "file=../" }), "it heeds case").toBe(false);
});

test.each([
  [
    clause("ARGS", "equals", "15", { variables: ["cmd"] }),
    [{ query: "a=1&CMD=15" }],
    [{ query: "cmd=155" }, { query: "xcmd=15" }],
  ],
  [
    clause("ARGS", "regex", "[^0-9]", { variables: ["id"] }),
    [{ query: "id=5'" }],
    [{ query: "id=5&page=x" }, { query: "id=" }],
  ],
  [
    clause("ARGS", "regex", "^(a|b)$", { variables: ["t"] }),
    [{ query: "t=b&x" }],
    [{ query: "t=bc" }, { query: "t=xa" }],
  ],
  [
    clause("ARGS_NAMES", "equals", "debug"),
    [{ query: "debug" }, { query: "a=1&debug=2" }],
    [{ query: "a=debug" }, { query: "debug2=1" }],
  ],
  [
    clause("BODY_ARGS", "contains", "$(", { variables: ["name"] }),
    [
      { body: "a=1&name=x%24(id)" },
      { body: '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n$(id)\r\n--b--' },
    ],
    [{ body: "other=$(id)" }],
  ],
  [
    clause("BODY_ARGS", "startsWith", "php:", { variables: ["json.a.viewFile"] }),
    [{ body: '{"a": {"viewFile": "php://x"}}' }],
    [{ body: '{"a": {"other": "php://x"}}' }],
  ],
  [clause("BODY_ARGS_NAMES", "contains", "cmd"), [{ body: "a=1&xcmd=2" }], [{ body: "a=cmd" }]],
  [clause("RAW_BODY", "contains", "<!doctype"), [{ body: "x<!DOCTYPE" }], [{ body: "doctype" }]],
  [clause("FILENAMES", "endsWith", ".php"), [{ body: 'filename="a.php"' }], [{ body: 'filename="a.php.txt"' }]],
  [clause("HEADERS_NAMES", "equals", "x-silo"), [{ headers: ["X-Silo"] }], [{ headers: ["X-Silo-2"] }]],
  [
    clause("HEADERS", "contains", "'", { variables: ["X-Cert"] }),
    [{ header_lines: ["x-cert: a'b"] }],
    [{ header_lines: ["x-other: a'b"] }],
  ],
  [
    clause("HEADERS", "contains", "evil", { variables: ["User-Agent"] }),
    [{ user_agent: "Evil/1" }],
    [{ user_agent: "good" }],
  ],
  [
    clause("COOKIES", "contains", "`", { variables: ["sid"] }),
    [{ header_lines: ["Cookie: a=1; sid=x`id`"] }],
    [{ header_lines: ["Cookie: a=`; sid=x"] }],
  ],
  [clause("URI_FULL", "contains", "/api?/ping"), [{ path: "/v1/api", query: "/ping" }], [{ path: "/v1/api/ping" }]],
])("%j means the same in ours", (rule, yes, no) => {
  const { matches } = convert(rule);
  expect(yes.map(matches)).toEqual(yes.map(() => true));
  expect(no.map(matches)).toEqual(no.map(() => false));
});

test("several rules are alternatives, and alternatives may stand within what must all hold", () => {
  const { matches } = convert(
    {
      and: [
        { or: [clause("URI", "contains", "/a"), clause("URI", "contains", "/b")] },
        clause("METHOD", "equals", "post"),
      ],
    },
    clause("URI", "endsWith", ".bak"),
  );
  const cases = [{ path: "/b", method: "POST" }, { path: "/x.bak" }, { path: "/a", method: "GET" }, { method: "POST" }];
  expect(cases.map(matches)).toEqual([true, true, false, false]);
});

test.each([
  [
    "a match that is no comparison of texts",
    clause("ARGS", "libinjectionSQL", "x", { variables: ["a"] }),
    /libinjectionSQL has no counterpart/,
  ],
  [
    "a transformation that ours lack",
    clause("URI", "equals", "x", { transform: ["b64decode"] }),
    /b64decode has no counterpart/,
  ],
  [
    "what must not match",
    { zones: ["URI"], match: { type: "equals", value: "x", not: true } },
    /match\.not has no counterpart/,
  ],
  ["a zone that no observation has", clause("PROTOCOL", "equals", "x"), /an observation has no PROTOCOL/],
  ["a value that is encoded", clause("URI", "contains", "%ad"), /is URL-encoded, and ours are decoded/],
  ["a member that is not known", { ...clause("URI", "contains", "x"), severity: 1 }, /Unrecognized key/],
  [
    "an expression anchored in part",
    clause("ARGS", "regex", "^a|b", { variables: ["x"] }),
    /anchors a part of itself only/,
  ],
  [
    "an expression without an example",
    clause("URI", "regex", "a\\b\\B(?=x)"),
    /no example could be made|not a regular expression/,
  ],
])("%s is refused by name", (_what, rule, message) => {
  expect(convertCrowdsec(stringify({ ...FILE, rules: [rule] }))).toMatch(message);
});

test("files that hold no rule are refused", () => {
  expect(convertCrowdsec(stringify({ name: "example/base", seclang_rules: ["SecAction"] }))).toMatch(/^has no rules/);
  expect(convertCrowdsec("- a")).toMatch(/^is no rule of CrowdSec/);
  expect(convertCrowdsec("a: 1\n---\nb: 2")).toBe("takes files of one rule each");
});
