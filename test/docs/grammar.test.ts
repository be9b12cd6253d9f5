import { readFileSync } from "node:fs";
import peggy from "peggy";
import { expect, test } from "vitest";

const FOLDER = new URL("../../libs/domain/query-language/", import.meta.url);

test("the parser of the search language is what its grammar says", () => {
  const read = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");
  const made = peggy.generate(read("grammar.peggy"), { output: "source", format: "es" });
  expect(read("syntax.js"), "write it anew: npm run grammar").toBe(made);
});
