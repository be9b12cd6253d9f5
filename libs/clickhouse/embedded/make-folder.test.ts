import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

test("makes a folder and its parents for their owner only, and leaves one that exists", async () => {
  const root = await mkdtemp(join(tmpdir(), "noisefloor-folders-"));
  onTestFinished(() => rm(root, { recursive: true }));
  const folder = join(root, "a", "b");
  await Promise.all([makeFolder(folder), makeFolder(folder)]);
  await makeFolder(folder);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test("fails with the system's error where no folder can be made", async () => {
  const root = await mkdtemp(join(tmpdir(), "noisefloor-folders-"));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, "file"), "");
  await expect(makeFolder(join(root, "file", "a", "b"))).rejects.toThrow("ENOTDIR");
  await expect(makeFolder(join(root, "x".repeat(300)))).rejects.toThrow("ENAMETOOLONG");
  // Exists and cannot hold folders: with Node's own `recursive`, mkdir would never end.
  if (process.platform === "linux") await expect(makeFolder("/proc/none/data")).rejects.toThrow("ENOENT");
});
