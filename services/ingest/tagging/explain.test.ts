import { expect, test } from "vitest";
import { createTagger } from "./compiled/tagger.ts";
import type { TaggingRule } from "./rule.ts";
import { parseMatch } from "./rule-files/parse-match.ts";

function ruleOf(slug: string, match: unknown): TaggingRule {
  const errors: string[] = [];
  const expression = parseMatch(match, { error: (message) => errors.push(message), warning: () => {} });
  if (expression === undefined) throw new Error(errors.join("; "));
  return { slug, match: expression, examples: [], counterexamples: [] };
}

const LOGIN = ruleOf("login", {
  method: "POST",
  "path|endswith": ["/login.php", "/signin.php"],
  "body|contains": "user=",
});

test("it names the rule that matches, with the values that fitted and where they were found", () => {
  const { explain } = createTagger([LOGIN, ruleOf("other", { destination_port: 22 })]);
  const http = { method: "POST", path: "/A/Login.php", body: "user=x" };
  expect(explain({ http })).toEqual({
    matched: [
      {
        slug: "login",
        clauses: [
          { key: "method", values: ["post"], found: ["post"] },
          { key: "path|endswith", values: ["/login.php"], found: ["/a/login.php"] },
          { key: "body|contains", values: ["user="], found: ["user=x"] },
        ],
      },
    ],
    almost: [],
  });
});

test("it names the one clause that is missing, and what the observation has instead", () => {
  const { explain } = createTagger([LOGIN]);
  const { matched, almost } = explain({ http: { method: "GET", path: "/login.php", body: "user=x" } });
  expect(matched).toEqual([]);
  expect(almost).toMatchObject([
    { slug: "login", missing: { key: "method", values: ["post"], found: ["get"], isExcluded: false } },
  ]);
  expect(explain({ http: { method: "GET", path: "/login.php" } }).almost, "two are missing").toEqual([]);
  expect(createTagger([ruleOf("one", { path: "/a" })]).explain({}).almost, "nothing holds").toEqual([]);
});

test("it names the clause that excludes an observation", () => {
  const rule = ruleOf("scan", {
    condition: "tool and not own",
    tool: { "user_agent|contains": "zgrab" },
    own: { "source_ip|cidr": "9.9.9.0/24" },
  });
  const { almost } = createTagger([rule]).explain({ source_ip: "9.9.9.1", http: { user_agent: "zgrab/0.x" } });
  expect(almost).toMatchObject([{ missing: { key: "source_ip|cidr", values: ["9.9.9.0/24"], isExcluded: true } }]);
});

test("rules of which more holds come first", () => {
  const { explain } = createTagger([
    ruleOf("a", { method: "GET", "path|contains": "/b", "query|contains": "x" }),
    ruleOf("b", { host: "h", "path|contains": "/b", "query|contains": "x" }),
  ]);
  expect(explain({ http: { method: "GET", host: "h", path: "/b" } }).almost.map(({ slug }) => slug)).toEqual([
    "b",
    "a",
  ]);
});

test("a rule of which nothing holds but what most observations have is not close", () => {
  const { explain } = createTagger([ruleOf("port", { transport: "tcp", destination_port: 22 })]);
  expect(explain({ transport: "tcp", destination_port: 23 }).almost).toEqual([]);
  expect(explain({ transport: "udp", destination_port: 22 }).almost).toHaveLength(1);
});
