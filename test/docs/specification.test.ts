import { expect, test } from "vitest";
import { readItems, readText } from "./documents.ts";

test("every promise of the specification names a test that is there", async () => {
  const promises = readItems(await readText("docs/specification.md"));
  expect(promises.length).toBeGreaterThan(50);
  for (const { item: promise, below } of promises) {
    expect(below, `"${promise}" names no test, or several`).toHaveLength(1);
    const [, file = "", name = ""] = /^([\w/.-]+\.test\.ts): (.+)$/.exec(below[0] ?? "") ?? [];
    expect(file, `"${promise}" names no test`).not.toBe("");
    const source = await readText(file);
    const isThere = [`"${name}"`, `\`${name}\``].some((title) => source.includes(title));
    expect(isThere, `${file} has no test called "${name}"`).toBe(true);
  }
});

test.each(["docs/specification.md", "docs/cli.md"])("%s is no wider than a screen", async (document) => {
  const lines = (await readText(document)).split("\n");
  expect(lines.filter((line) => line.length > 132)).toEqual([]);
});
