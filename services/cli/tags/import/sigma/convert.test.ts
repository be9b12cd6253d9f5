import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import { readRuleFile } from "@noisefloor/ingest/tagging/rule-files/read-file.ts";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { convertSigma } from "./convert.ts";

const RULE = {
  title: "Example Panel: Path Traversal (CVE-2026-10001)",
  id: "6a7c1c1e-0000-4000-8000-000000000001",
  author: "A. Author",
  description: "Reads files.",
  references: ["https://example.org/advisory", "internal note"],
  tags: ["attack.t1190", "cve.2026-10001"],
  level: "high",
  logsource: { category: "webserver" },
  detection: {
    selection: { "cs-method": "GET", "cs-uri-query|contains|all": ["/panel/", "../"] },
    filter_scanner: { "cs-user-agent|contains": "Example-Audit" },
    condition: "selection and not 1 of filter_*",
  },
};

function convert(change: object) {
  const converted = convertSigma(stringify({ ...RULE, ...change }));
  if (typeof converted === "string") throw new Error(converted);
  const { tags, problems } = readRuleFile(`${converted.slug}.yaml`, converted.text);
  const { tagsFor } = createTagger(tags.flatMap(({ rule }) => rule ?? []));
  const matches = (http: object) => tagsFor({ http }).length === 1;
  return { entry: tags[0]?.entry, problems, matches };
}

const detection = (selection: unknown, condition = "selection") => ({ detection: { selection, condition } });

test("a rule becomes a file of ours that passes lint, with an example of its own values", () => {
  const { entry, problems, matches } = convert({});
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(entry).toMatchObject({
    slug: "sigma-example-panel-path-traversal-cve-2026-10001",
    intention: "malicious",
    cves: ["CVE-2026-10001"],
    references: ["https://example.org/advisory"],
    description: expect.stringMatching(/Imported from the Sigma rule 6a7c1c1e-.* by A\. Author\.$/),
  });
  expect(matches({ method: "GET", path: "/panel/", query: "file=../../etc" })).toBe(true);
  expect(matches({ method: "GET", path: "/panel/", query: "file=../", user_agent: "example-audit/1" })).toBe(false);
  expect(matches({ method: "POST", path: "/panel/../" })).toBe(false);
});

// As pySigma 2.0.1 does.
test.each([
  ["all of *", ["GET /x"]],
  ["all of them", ["GET /x"]],
  ["1 of them", ["GET /x"]],
  ["1 of *", ["GET /x"]],
  ["any of *", ["GET /x"]],
  ["any of them", ["GET /x"]],
  ["1 of sel*", ["GET /x"]],
  ["all of _*", ["POST /foo"]],
  ["1 of _ba*", ["POST /foo"]],
  ["all of * and _base", []],
  ["all of * or _base", ["GET /x", "POST /foo"]],
])("%s: selections whose names begin with _ count only where the condition names them", (condition, requests) => {
  const { matches } = convert({
    detection: { sel: { "cs-method": "GET" }, _base: { "cs-uri-stem|contains": "foo" }, condition },
  });
  const isMatched = (request: string) => {
    const [method, path] = request.split(" ");
    return matches({ method, path });
  };
  expect(["GET /x", "POST /foo"].filter(isMatched)).toEqual(requests);
});

test("values mean what they mean in Sigma: wildcards, escapes, encoded characters", () => {
  const wildcards = convert(detection({ "cs-uri|contains": "/a*b" }));
  expect([{ path: "/x/a-b/" }, { path: "/x/b-a" }].map(wildcards.matches)).toEqual([true, false]);
  const escaped = convert(detection({ "cs-uri|contains": "a\\*b" }));
  expect([{ path: "/a*b" }, { path: "/a-b" }].map(escaped.matches)).toEqual([true, false]);
  const encoded = convert(detection({ "cs-uri|contains": "%2e%2E/" }));
  expect([{ path: "/%2E%2e/" }, { path: "/../" }].map(encoded.matches)).toEqual([true, false]);
});

test.each([
  [
    "another log source",
    { logsource: { category: "process_creation", product: "windows" } },
    /process_creation, windows; it takes/,
  ],
  [
    "a field that no observation has",
    detection({ "sc-status": 200 }),
    /^sc-status: an observation has no sc-status; fields are cs-method/,
  ],
  [
    "a modifier that is not known",
    detection({ "cs-uri|base64": "x" }),
    /^cs-uri\|base64: the modifier base64 is not known/,
  ],
  ["keywords", detection(["select * from"]), /^selection: keywords search a whole log line/],
  ["a rule that counts", detection({ "cs-uri": "/a" }, "selection | count() > 5"), /cannot count several/],
  ["a whole comparison of what is more in Sigma", detection({ "c-uri": "/a" }), /only a part of it can be compared/],
  [
    "two fields that are one in ours",
    detection({ "cs-referer": "a", "cs-referrer": "b" }),
    /two of its fields are referer in ours/,
  ],
  [
    "a regular expression that nothing matches, so that it has no example",
    detection({ "cs-uri|re": "b$a" }),
    /example/,
  ],
  ["no rule at all", { title: undefined }, /^is no Sigma rule: title/],
])("%s is refused by name", (_what, change, message) => {
  expect(convertSigma(stringify({ ...RULE, ...change }))).toMatch(message);
});
