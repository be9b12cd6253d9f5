import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { localLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { LIMIT, type LookupLimitWorld, openLookupLimitWorld } from "../../support/worlds/lookup-limit-world.ts";

let world: LookupLimitWorld;
beforeEach(() => {
  world = openLookupLimitWorld();
});
afterEach(() => world.close());

const local = async (file: string) => world.opened(await localLookupLimit(file, world.now, world.log));

describe("without Redis", () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "noisefloor-lookups-"));
    file = join(folder, "data", "lookups.json");
  });
  afterEach(async () => {
    // Closing it later would create the folder again.
    await world.close();
    await rm(folder, { recursive: true });
  });

  test("counts survive a restart, in a folder that did not exist before", async () => {
    const first = await local(file);
    expect(first.state()).toBe("local");
    expect(await world.grantedOf(first, 4)).toBe(4);
    await first.close();
    expect(await readdir(join(folder, "data"))).toEqual(["lookups.json"]);
    expect(await world.grantedOf(await local(file), LIMIT)).toBe(LIMIT - 4);
  });

  test("counts survive a kill of the process, except those of the last seconds", async () => {
    const first = await local(file);
    expect(await world.grantedOf(first, 4)).toBe(4);
    await eventually(async () => expect(await readdir(join(folder, "data"))).toEqual(["lookups.json"]), 10_000);
    expect(await world.grantedOf(await local(file), LIMIT)).toBe(LIMIT - 4);
  });

  test("of concurrent lookups no more are granted than the limit", async () => {
    const limit = await local(file);
    const permits = await Promise.all(Array.from({ length: 50 }, () => world.take(limit)));
    expect(permits.filter(({ isGranted }) => isGranted)).toHaveLength(LIMIT);
    await permits[0]?.refund();
    expect(await world.grantedOf(limit, LIMIT)).toBe(1);
  });

  test("requests for many addresses are granted as a whole or not at all, over a restart too", async () => {
    const limit = await local(file);
    const permits = await Promise.all([4, 4, 4, 2, 1].map((lookups) => world.take(limit, lookups)));
    expect(permits.map(({ isGranted }) => isGranted)).toEqual([true, true, false, true, false]);
    await permits[0]?.refund();
    await limit.close();
    const again = await local(file);
    expect(await world.take(again, 5)).toMatchObject({ isGranted: false, remaining: 4 });
    expect(await world.take(again, 4)).toMatchObject({ isGranted: true, remaining: 0 });
  });

  test.each([
    ["truncated", '{"version":1,"storage":[{"key":"2026'],
    ["other JSON", '["not", "ours"]'],
    ["empty", ""],
    ["null", "null"],
  ])("a file that is %s loses its counts with a warning, but does not prevent the start", async (_what, content) => {
    const other = join(folder, "lookups.json");
    await writeFile(other, content);
    const limit = await local(other);
    expect(world.logged).toEqual([expect.stringContaining("counting from zero")]);
    expect(await world.grantedOf(limit, LIMIT + 1)).toBe(LIMIT);
    await limit.close();
    expect((await world.take(await local(other))).isGranted).toBe(false);
  });

  test("a file that cannot be written is logged once, and counting continues in memory", async () => {
    await writeFile(join(folder, "data"), "a file where the folder would be");
    const limit = await local(file);
    expect(await world.grantedOf(limit, LIMIT + 1)).toBe(LIMIT);
    await eventually(async () => expect(world.logged).toHaveLength(1), 10_000);
    await limit.close();
    expect(world.logged.at(-1)).toContain("saving the lookup counts failed");
  });

  test("rejected lookups cause no write", async () => {
    const limit = await local(file);
    expect(await world.grantedOf(limit, LIMIT)).toBe(LIMIT);
    await limit.close();
    await rm(file);
    expect(await world.grantedOf(limit, 3)).toBe(0);
    await limit.close();
    expect(await readdir(join(folder, "data"))).toEqual([]);
  });

  test("a disk that hangs does not keep the process from ending", async () => {
    // The pipe has no reader, so a write to it never ends.
    await promisify(execFile)("mkfifo", [`${join(folder, "lookups.json")}.new`]);
    const limit = await local(join(folder, "lookups.json"));
    await world.take(limit);
    const begun = performance.now();
    await limit.close();
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(world.logged).toEqual([expect.stringContaining("saving the lookup counts timed out")]);
    expect(await readFile(join(folder, "lookups.json.new"), "utf8"), "does not hold the pipe").toContain("storage");
  });
});
