import { ALL_MEMBERS } from "@noisefloor/domain/observation/members.ts";
import { fieldNames } from "@noisefloor/ingest/tagging/matching/fields.ts";
import { readRuleFile } from "@noisefloor/ingest/tagging/rule-files/read-file.ts";
import { expect, test } from "vitest";
import { readText } from "./documents.ts";

const document = await readText("docs/tagging-rules.md");
const section = (heading: string) => document.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
const firstCells = (text: string) =>
  text
    .split("\n")
    .filter((row) => row.startsWith("| `"))
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z0-9_]+)`/g)].map(([, name = ""]) => name));

test("docs/tagging-rules.md has every field and every modifier, and no other", () => {
  const ofMembers = ALL_MEMBERS.flatMap((member) => ("rules" in member ? member.rules : []));
  expect([...firstCells(section("Fields")), ...ofMembers].toSorted()).toEqual(fieldNames().toSorted());
  const { problems } = readRuleFile(
    "a.yaml",
    "{slug: a, name: a, category: tool, intention: benign, description: a, match: {path|no: a}}",
  );
  const listed = /modifiers are (.*)$/m.exec(problems[0]?.message ?? "")?.[1]?.split(", ") ?? [];
  expect(listed.length).toBeGreaterThan(10);
  expect(firstCells(section("Modifiers")).toSorted()).toEqual(listed.toSorted());
});

test("docs/tagging-rules.md shows a rule without errors, and a match that is one", () => {
  const [first = "", second = ""] = [...document.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  expect(readRuleFile("example-panel-login.yaml", first).problems).toEqual([]);
  const withMatch = `${first.split("match:")[0]}${second}examples: [{user_agent: "\${JNDI:x", source_ip: 9.9.9.9}]
counterexamples: [{uri: "/?%24{jndi:x", source_ip: 198.51.100.7}]`;
  expect(readRuleFile("example-panel-login.yaml", withMatch).problems).toEqual([]);
});
