import { relative } from "node:path";
import * as paths from "@noisefloor/cli/paths.ts";
import { expect, test } from "vitest";
import { ROOT, readText } from "./documents.ts";

test("the image has every file and folder of infra that the program reads", async () => {
  const taken = (await readText(".dockerignore")).split("\n").flatMap((line) => /^!(.+)$/.exec(line)?.[1] ?? []);
  const read = Object.values(paths)
    .map((path) => relative(ROOT, path))
    .filter((path) => path.startsWith("infra/"));
  expect(read.length).toBeGreaterThan(4);
  for (const path of read) {
    expect(
      taken.some((each) => path === each || path.startsWith(`${each}/`)),
      path,
    ).toBe(true);
  }
});
