import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { readSettings } from "@noisefloor/config/settings.ts";
import { createLogger } from "@noisefloor/telemetry/logger.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { CommandContext } from "../../framework/command.ts";
import { runTagsExplain } from "./explain.ts";
import { runTagsImportRules } from "./import-rules.ts";
import { runTagsLint, runTagsTest } from "./lint.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-rules-"));
  await writeFile(join(folder, "panel.yaml"), rule("panel", "examples: [{method: POST, path: /a/panel}]"));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const rule = (slug: string, examples: string) => `
slug: ${slug}
name: Panel
category: activity
intention: malicious
description: A test.
match: {method: POST, path|endswith: /panel}
${examples}
counterexamples: [{path: /a/panel}, {path: /}]
`;

async function run(command: (context: CommandContext) => Promise<void>, input = "") {
  const lines: string[] = [];
  const context: CommandContext = {
    settings: readSettings({ LOG_LEVEL: "silent", TAG_RULES_DIR: folder }),
    log: createLogger("test", "silent"),
    signal: new AbortController().signal,
    print: (line = "") => void lines.push(line),
    stdin: Readable.from([input]),
    isTerminal: false,
    ask: undefined,
  };
  const failure = await command(context).then(
    () => "",
    (error: unknown) => String(error),
  );
  return { output: lines.join("\n"), failure };
}

test("lint and test count rules and examples, and succeed when all is well", async () => {
  const lint = await run((context) => runTagsLint([folder], context));
  expect(lint).toEqual({
    output: expect.stringMatching(/^files +1\ntags +1\nrules +1\nwarnings +0\nerrors +0$/),
    failure: "",
  });
  const tested = await run((context) => runTagsTest([folder], context));
  expect(tested).toEqual({ output: "rules            1\nexamples         1\ncounterexamples  2", failure: "" });
});

test("as JSON, lint and test give the same counts, and each problem with its file", async () => {
  const good = await run((context) => runTagsTest([folder], context, { json: true }));
  expect(JSON.parse(good.output)).toEqual({ rules: 1, examples: 1, counterexamples: 2, errors: 0, problems: [] });
  const bad = join(folder, "bad");
  await mkdir(bad);
  onTestFinished(() => rm(bad, { recursive: true }));
  await writeFile(join(bad, "other.yaml"), rule("other", "examples: [{path: /x}]"));
  const problem = {
    file: expect.stringMatching(/other\.yaml$/),
    severity: "error",
    message: 'examples[1]: the rule does not match {"path":"/x"}',
  };
  const lint = await run((context) => runTagsLint([bad], context, { json: true }));
  expect(JSON.parse(lint.output)).toEqual({
    ...{ files: 1, tags: 0, rules: 0, warnings: 0, errors: 1 },
    problems: [problem],
  });
  const tested = await run((context) => runTagsTest([bad], context, { json: true }));
  expect(JSON.parse(tested.output)).toEqual({
    ...{ rules: 0, examples: 0, counterexamples: 0, errors: 1 },
    problems: [problem],
  });
  expect([lint.failure, tested.failure]).toEqual(Array(2).fill("UserError: the files have 1 errors, listed above"));
});

test("without a folder they check our rules and those of TAG_RULES_DIR", async () => {
  const { output, failure } = await run((context) => runTagsLint([], context));
  expect(failure).toBe("");
  expect(Number(/^tags +(\d+)$/m.exec(output)?.[1])).toBeGreaterThan(50);
});

test("an error is listed with its file and makes both fail", async () => {
  const bad = await mkdtemp(join(tmpdir(), "noisefloor-rules-"));
  await writeFile(join(bad, "other.yaml"), rule("other", "examples: [{path: /x}]"));
  for (const command of [runTagsLint, runTagsTest]) {
    const { output, failure } = await run((context) => command([bad], context));
    expect(output).toMatch(/^error +.*other\.yaml: examples\[1\]: the rule does not match \{"path":"\/x"\}$/m);
    expect(failure).toBe("UserError: the files have 1 errors, listed above");
  }
  await rm(bad, { recursive: true });
  expect((await run((context) => runTagsLint([bad], context))).failure).toMatch(/^UserError: ENOENT/);
});

test("lint lists all errors of all files at once: of the tag, its match and its examples", async () => {
  const bad = await mkdtemp(join(tmpdir(), "noisefloor-rules-"));
  onTestFinished(() => rm(bad, { recursive: true }));
  const wrong = rule("one", "examples: [{pth: /x}]")
    .replace("category: activity", "category: thing")
    .replace("path|endswith", "path|endwith")
    .replace("counterexamples: [", "counterexamples: [{port: 1}, ");
  await writeFile(join(bad, "one.yaml"), wrong);
  await writeFile(join(bad, "two.yaml"), "slug: [a\nname: {b\n");
  await writeFile(join(bad, "three.yaml"), "slug: three\nexamples: [{pth: /x}]\n");
  const { output, failure } = await run((context) => runTagsLint([bad], context));
  for (const expected of [
    /one\.yaml: category: must be one of/,
    /one\.yaml: path\|endwith: there is no modifier "endwith"/,
    /one\.yaml: examples\[1\]: there is no field "pth"/,
    /one\.yaml: counterexamples\[1\]: there is no field "port"/,
    /two\.yaml: line \d+, column \d+: .*\n(?:.*\n)*.*two\.yaml: line \d+, column \d+: /,
    /three\.yaml: name: is missing/,
    /three\.yaml: category: /,
    /three\.yaml: has examples, but no match: a rule needs both/,
    /three\.yaml: examples\[1\]: there is no field "pth"/,
  ])
    expect(output).toMatch(expected);
  expect(failure).toMatch(/^UserError: the files have \d+ errors, listed above$/);
});

test("explain says which rule matches and which lacks one clause, for people and for programs", async () => {
  const event = JSON.stringify({ http: { method: "POST", path: "/A/Panel" } });
  const { output } = await run((context) => runTagsExplain(event, { json: false, all: false }, context));
  expect(output).toContain(
    '  panel\n    holds    method: "post", in "post"\n    holds    path|endswith: "/panel", in "/a/panel"',
  );
  const file = join(folder, "event.json");
  await writeFile(file, JSON.stringify({ http: { method: "GET", path: "/a/panel" } }));
  const almost = await run((context) => runTagsExplain(file, { json: false, all: true }, context));
  expect(almost.output).toContain('  panel\n    missing  method: "post"; the observation has "get"');
  const json = await run(
    (context) => runTagsExplain("-", { json: true, all: false }, context),
    await readFile(file, "utf8"),
  );
  expect(JSON.parse(json.output)).toMatchObject({
    almost: expect.arrayContaining([
      {
        slug: "panel",
        missing: { key: "method", values: ["post"], found: ["get"], isExcluded: false },
        clauses: [expect.anything()],
      },
    ]),
  });
});

test("explain --tag shows each clause of one rule with what the record has, however many are missing", async () => {
  const explain = (event: object, tag: string, json = false) =>
    run((context) => runTagsExplain(JSON.stringify(event), { json, all: false, tag }, context));
  expect(await explain({ http: { method: "GET", path: "/a/b" } }, "panel")).toEqual({
    output: [
      "panel: does not match",
      '  missing  method: "post"; the observation has "get"',
      '  missing  path|endswith: "/panel"; the observation has "/a/b"',
    ].join("\n"),
    failure: "",
  });
  const tool = "condition: (ours or path) and not own\n  ours: {user_agent|contains: tool}\n  path: {path: /x}";
  const own = "own: {source_ip|cidr: 45.0.0.0/8, body|exists: true}";
  await writeFile(
    join(folder, "groups.yaml"),
    rule("groups", "examples: [{path: /x}]").replace(/^match.*$/m, `match:\n  ${tool}\n  ${own}`),
  );
  onTestFinished(() => rm(join(folder, "groups.yaml")));
  const seen = { source_ip: "45.0.0.1", http: { path: "/x", body: "abc" } };
  expect((await explain(seen, "groups")).output).toBe(
    [
      "groups: does not match",
      "  holds    one of these:",
      '    missing  user_agent|contains: "tool"; the observation has none',
      '    holds    path: "/x"; the observation has "/x"',
      "  missing  not this:",
      "    holds    all of these:",
      '      holds    source_ip|cidr: "45.0.0.0/8"; the observation has "45.0.0.1"',
      '      holds    body|exists: "true"; the observation has "abc"',
    ].join("\n"),
  );
  expect(JSON.parse((await explain(seen, "groups", true)).output)).toMatchObject({
    ...{ slug: "groups", matches: false },
    rule: {
      kind: "and",
      holds: false,
      parts: [
        { kind: "or", holds: true },
        { kind: "not", holds: false },
      ],
    },
  });
  expect((await explain(seen, "nothing")).failure).toMatch(
    /^UserError: no file has the tag "nothing" without an error/,
  );
});

test("explain takes a record as its sensor wrote it", async () => {
  const explain = (event: object) =>
    run((context) => runTagsExplain(JSON.stringify(event), { json: false, all: false }, context));
  const cowrie = { session: "a", src_ip: "45.83.64.20", sensor: "s", timestamp: "2026-11-20T13:00:00Z" };
  const login = { ...cowrie, eventid: "cowrie.login.failed", username: "root", password: "xc3511" };
  expect((await explain(login)).output).toMatch(/^Read in the format cowrie\.\nRules that match: [1-9]/);
  const http = { url: "/a/panel", http_method: "POST" };
  const eve = { ...cowrie, event_type: "http", flow_id: 1, dest_ip: "198.51.100.7", dest_port: 80, proto: "TCP", http };
  expect((await explain(eve)).output).toMatch(/^Read in the format suricata-eve\.\n.*\n(?: .*\n)* {2}panel\n/);
  expect((await explain({ ...cowrie, eventid: "cowrie.log.closed" })).failure).toBe(
    "UserError: the record is in the format cowrie and gives no observation: no-behaviour",
  );
});

test("an event that is no observation is explained, too", async () => {
  const explain = (event: string) => run((context) => runTagsExplain(event, { json: false, all: false }, context));
  expect((await explain('{"htp": {}}')).failure).toMatch(/unknown members: "htp"\. "noisefloor schema" prints/);
  expect((await explain("{")).failure).toMatch(/^UserError: cannot read the observation: /);
  expect((await explain("/no/such/file")).failure).toMatch(/^UserError: cannot read the observation: ENOENT/);
});

test("importing Sigma rules writes those that can be said, refuses the others by name, and replaces no file", async () => {
  const to = join(folder, "sigma");
  const good = join(folder, "good.yml");
  const bad = join(folder, "bad.yml");
  const detection = "detection: {selection: {cs-uri|contains: /panel/}, condition: selection}";
  await writeFile(good, `title: "[Example] Panel"\nlevel: medium\nlogsource: {category: webserver}\n${detection}\n`);
  await writeFile(bad, `title: Other\nlogsource: {product: windows}\n${detection}\n`);
  const first = await run((context) => runTagsImportRules("sigma", [good, bad], { to }, context));
  expect(first.failure).toBe("");
  expect(first.output).toContain(`refused ${bad}: its log source is windows; it takes`);
  expect(first.output).toMatch(/^written {2}1\nrefused {2}1$/m);
  expect((await run((context) => runTagsLint([to], context))).output).toMatch(/^rules +1\nwarnings +1\nerrors +0$/m);
  const again = await run((context) => runTagsImportRules("sigma", [good], { to }, context));
  expect(again).toEqual({
    output: expect.stringMatching(/EEXIST.*sigma-example-panel\.yaml/),
    failure: "UserError: no rule was written",
  });
  await rm(to, { recursive: true });
  const piped = await run(
    (context) => runTagsImportRules("sigma", ["-", bad], { to, json: true }, context),
    await readFile(good, "utf8"),
  );
  expect(JSON.parse(piped.output)).toEqual({
    written: [{ file: "-", slug: "sigma-example-panel" }],
    refused: [{ file: bad, reason: expect.stringContaining("its log source is windows") }],
  });
  await rm(to, { recursive: true });
});
