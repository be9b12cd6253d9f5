import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeList, writeForm } from "../../support/builders/feed.ts";
import { type FeedAnswer, linesFor, runLines, startFeedServer } from "../../support/recipe-runs.ts";

test("lines to paste replace a file by a list alone, whatever a download was, and reload where it changed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-recipes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const feed = await startFeedServer();
  const lines = linesFor("nginx", feed.url, folder);
  const listOf = async (...ips: string[]) => (await writeForm("txt", makeList(ips))).toString();
  const reads = (reload: string) => ({ nginx: `${reload} && cat ${folder}/*.geo >> ${folder}/loaded` });
  const runs: readonly (readonly [FeedAnswer, string, boolean, string])[] = [
    [{ kind: "list", body: await listOf("192.175.48.6") }, "true", true, "192.175.48.6 1;\n"],
    [{ kind: "list", body: await listOf("192.175.48.6") }, "true", true, ""],
    [{ kind: "error" }, "true", false, ""],
    [{ kind: "page" }, "true", false, ""],
    [{ kind: "nothing" }, "true", false, ""],
    [{ kind: "cut", body: await listOf("192.175.48.7") }, "true", false, ""],
    [{ kind: "list", body: await listOf("192.175.48.8") }, "false", false, ""],
    [{ kind: "list", body: await listOf("192.175.48.8") }, "true", true, "192.175.48.8 1;\n"],
    [{ kind: "list", body: await listOf() }, "true", true, ""],
  ];
  let loaded = "";
  for (const [index, [answer, reload, succeeds, more]] of runs.entries()) {
    feed.give(answer);
    loaded += more;
    expect([index, await runLines(lines, reads(reload))]).toEqual([index, succeeds]);
    expect([index, await readFile(join(folder, "loaded"), "utf8")]).toEqual([index, loaded]);
  }
  const [list = ""] = (await readdir(folder)).filter((file) => file.endsWith(".geo"));
  expect(await readFile(join(folder, list), "utf8")).toBe("");
});
