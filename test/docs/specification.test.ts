import { expect, test } from "vitest";
import { readText } from "./documents.ts";

/** Rows of a table whose last column is headed "pinned by": what is promised, and `file: name of the test`. */
function promisesIn(document: string): { promise: string; pinnedBy: string }[] {
  const rows: { promise: string; pinnedBy: string }[] = [];
  let isPinned = false;
  for (const line of document.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    const [, promise = "", pinnedBy = ""] = cells;
    if (cells.length < 4) isPinned = false;
    else if (pinnedBy === "pinned by") isPinned = true;
    else if (isPinned && !promise.startsWith("---")) rows.push({ promise, pinnedBy });
  }
  return rows;
}

test("every promise of the specification names a test that is there", async () => {
  const promises = promisesIn(await readText("docs/specification.md"));
  expect(promises.length).toBeGreaterThan(50);
  for (const { promise, pinnedBy } of promises) {
    const [, file = "", name = ""] = /^([\w/.-]+\.test\.ts): (.+)$/.exec(pinnedBy) ?? [];
    expect(file, `"${promise}" names no test`).not.toBe("");
    const source = await readText(file);
    const isThere = [`"${name}"`, `\`${name}\``].some((title) => source.includes(title));
    expect(isThere, `${file} has no test called "${name}"`).toBe(true);
  }
});
