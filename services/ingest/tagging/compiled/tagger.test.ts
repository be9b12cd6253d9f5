import { expect, test } from "vitest";
import type { TaggingRule } from "../rule.ts";
import { parseMatch } from "../rule-files/parse-match.ts";
import { createTagger } from "./tagger.ts";

function ruleOf(slug: string, match: unknown): TaggingRule {
  const errors: string[] = [];
  const expression = parseMatch(match, { error: (message) => errors.push(message), warning: () => {} });
  if (expression === undefined) throw new Error(errors.join("; "));
  return { slug, match: expression, examples: [], counterexamples: [] };
}

/** Paths of products that have most of their words in common, as real ones do. */
const pathRules = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    ruleOf(`product-${index}`, { method: "GET", "path|contains": `/cgi-bin/product-${index}/admin.php` }),
  );
const request = (path: string) => ({ http: { method: "GET", path } });

test("only rules of which something necessary was found are evaluated, however many there are", () => {
  const { tagsFor, evaluated } = createTagger([
    ...pathRules(1_500),
    ...Array.from({ length: 500 }, (_, port) => ruleOf(`port-${port}`, { transport: "tcp", destination_port: port })),
    ...Array.from({ length: 100 }, (_, index) => ruleOf(`re-${index}`, { "path|re": `/[a-z]+/product-${index}/\\d+` })),
    ...Array.from({ length: 100 }, (_, index) => ruleOf(`net-${index}`, { "source_ip|cidr": `9.9.${index}.0/24` })),
  ]);
  expect(tagsFor(request("/cgi-bin/product-12/admin.php"))).toEqual(["product-12"]);
  expect(tagsFor({ transport: "tcp", destination_port: 23, source_ip: "9.9.7.1" })).toEqual(["net-7", "port-23"]);
  // Those of the path, the port and the network, and no regular expression: it needs "/product-12/" to run.
  expect(evaluated()).toBeLessThanOrEqual(4);
});

test("a rule about what an observation lacks is evaluated when the rest of it may hold", () => {
  const match = { condition: "get and not agent", get: { method: "GET" }, agent: { "user_agent|exists": true } };
  const { tagsFor } = createTagger([ruleOf("no-agent", match)]);
  expect(tagsFor(request("/"))).toEqual(["no-agent"]);
  expect(tagsFor({ http: { method: "GET", user_agent: "x" } })).toEqual([]);
  expect(tagsFor({})).toEqual([]);
});

test("a login as a whole and the name of a TLS server are fields", () => {
  const { tagsFor } = createTagger([
    ruleOf("default", { credential: ["root/admin", "admin/*"] }),
    ruleOf("panel", { "sni|endswith": ".panel.example" }),
  ]);
  const credentials = [{ username: "Root" }, { username: "ROOT", password: "admin" }];
  expect(tagsFor({ credentials, tls: { sni: "a.panel.example" } })).toEqual(["default", "panel"]);
  expect(tagsFor({ credentials: [{ username: "root" }, { password: "admin" }, {}], tls: {} })).toEqual([]);
});

test("tags are sorted and none is there twice", () => {
  const { tagsFor } = createTagger([
    ruleOf("b", { method: "GET" }),
    ruleOf("a", { "path|contains": "x" }),
    ruleOf("b", { "path|contains": "x" }),
  ]);
  expect(tagsFor(request("/x"))).toEqual(["a", "b"]);
});

test("what one observation had does not stay for the next", () => {
  const { tagsFor } = createTagger([ruleOf("both", { "path|contains": "/a", "query|re": "b+c" })]);
  expect(tagsFor({ http: { path: "/a", query: "bbc" } })).toEqual(["both"]);
  expect(tagsFor({ http: { path: "/a", query: "b" } })).toEqual([]);
  expect(tagsFor({ http: { query: "bbc" } })).toEqual([]);
});

test("regular expressions and texts that were made to take for ever come to an end", () => {
  const body = "a".repeat(4_096);
  const patterns = ["(a+a+)+b", "(a|aa)+$x", "(?:a?){120}a{120}b", "(.*a){20}b", "a*a*a*a*a*a*a*a*b"];
  const rules = patterns.map((pattern, index) => ruleOf(`re-${index}`, { "body|re": pattern }));
  const wildcards = ruleOf("stars", { body: `${"*a".repeat(100)}*b*a` });
  const { tagsFor } = createTagger([...rules, wildcards, ruleOf("found", { "body|contains": "aaa" })]);
  expect(tagsFor({ http: { body } })).toEqual(["found"]);
});
