import { copyFile, cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backUpDatabase, type MadeBackup, readBack } from "@noisefloor/clickhouse/backup.ts";
import { requireWholeOnDisk } from "@noisefloor/clickhouse/backup-files.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWorkingDatabases } from "../../support/worlds/backups.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const terms = { signal: new AbortController().signal };

// A server of our own: backups are files of the machine that it runs on.
let folder: string;
let server: EmbeddedClickHouse;
let world: World;
const made = new Map<string, MadeBackup>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-read-back-"));
  server = await startEmbedded(join(folder, "data"));
  world = await createWorld(Date.now, { server: server.connection });
  const seen = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: "45.0.0.1" };
  await world.store(
    Array.from({ length: 5_000 }, (_, index) => ({ ...seen, http_path: `/${Math.random()}/${index}` })),
  );
  for (const name of ["whole", "whole.tar", "whole.tar.zst", "whole.tar.gz"]) {
    const backup = await backUpDatabase(world.client, world.connection.database, placeOf(name), terms);
    if (backup === undefined) throw new Error("nobody cancelled it");
    made.set(name, backup);
  }
});
afterAll(async () => {
  await world.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const pathOf = (name: string) => join(folder, name);
const placeOf = (name: string) => ({ kind: "file", path: pathOf(name) }) as const;

/** What a backup is put to before it gets its name. */
async function prove(name: string, of = name): Promise<boolean> {
  await requireWholeOnDisk(pathOf(name), made.get(of)?.storedBytes ?? 0);
  return readBack(world.client, world.connection.database, placeOf(name), terms);
}

const readBackBy = (name: string) => readBack(world.client, world.connection.database, placeOf(name), terms);

async function expectRefused(proof: Promise<unknown>, what: string, reason = /./): Promise<void> {
  const error = await proof.then(String, (thrown: unknown) => thrown);
  expect(error, what).toMatchObject({
    name: "BackupError",
    message: expect.stringMatching(/^the backup cannot be read back: .*\. Is the disk full\?$/),
  });
  expect(String(error), what).toMatch(reason);
  expect(String(error), what).not.toMatch(/Code: |[a-z]::[A-Z]|version \d|\([A-Z_]+\)/);
}

test.each(["whole", "whole.tar", "whole.tar.zst", "whole.tar.gz"])("the backup %s is whole", async (name) => {
  expect(await prove(name)).toBe(true);
  expect(await readWorkingDatabases(world), "nothing is left behind").toEqual([]);
});

// A bare .tar ends in 1,024 bytes which say nothing.
test.each<[string, number]>([
  ["whole.tar", 1_025],
  ["whole.tar.zst", 1],
  ["whole.tar.gz", 1],
])("an archive %s is found out wherever it is cut off", async (name, least) => {
  const { size } = await stat(pathOf(name));
  for (const cut of [least, 2_000, 20_000, size >> 1, size - 700, size]) {
    await copyFile(pathOf(name), pathOf(`cut.${name}`));
    await truncate(pathOf(`cut.${name}`), size - cut);
    await expectRefused(prove(`cut.${name}`, name), `without its last ${cut} bytes of ${size}`);
    // Nobody but the server looks at what lies at a server of its own.
    await expectRefused(readBackBy(`cut.${name}`), `by the server, without its last ${cut} bytes`);
  }
  expect(await readWorkingDatabases(world)).toEqual([]);
});

test.each(["whole.tar", "whole.tar.zst"])("a gap in the middle of the archive %s is found", async (name) => {
  const bytes = await readFile(pathOf(name));
  for (const gap of [512, 4_096, 65_536]) {
    for (let start = 8_192; start + gap < bytes.length; start += bytes.length >> 3) {
      await writeFile(pathOf(`gap.${name}`), Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + gap)]));
      await expectRefused(prove(`gap.${name}`, name), `${gap} bytes from ${start}`);
    }
  }
});

async function largestFile(name: string): Promise<string> {
  const files = (await readdir(pathOf(name), { recursive: true })).filter((file) => file.endsWith(".bin"));
  const sizes = await Promise.all(
    files.map(async (file) => ({ file, size: (await stat(pathOf(join(name, file)))).size })),
  );
  return pathOf(join(name, sizes.sort((one, another) => another.size - one.size)[0]?.file ?? ""));
}

test.each<[string, (name: string) => Promise<void>]>([
  [
    "lacks the last byte of a file",
    async (name) => truncate(await largestFile(name), (await stat(await largestFile(name))).size - 1),
  ],
  ["has a file that is empty", async (name) => truncate(await largestFile(name))],
  ["lacks a file", async (name) => rm(await largestFile(name))],
  ["has an empty listing", (name) => truncate(pathOf(join(name, ".backup")))],
])("a folder that %s is found out", async (harm, doHarm) => {
  const name = harm.replaceAll(" ", "-");
  await cp(pathOf("whole"), pathOf(name), { recursive: true });
  await doHarm(name);
  await expectRefused(prove(name, "whole"), harm, /\d+ of its \d+ bytes are there/);
});

test.each([
  ["empty", 0],
  ["cut off", 5_000],
])("a server finds a listing that is %s", async (harm, size) => {
  await cp(pathOf("whole"), pathOf(harm), { recursive: true });
  await truncate(pathOf(join(harm, ".backup")), size);
  await expectRefused(readBackBy(harm), harm);
});

test("a size of 8 GiB or more, which a .tar says before the entry's own header, is counted", async () => {
  const size = 2 ** 33 + 5;
  const said = `19 size=${size}\n`;
  const header = (kind: string, length: number) => {
    const block = Buffer.alloc(512);
    block.write(`${length.toString(8).padStart(11, "0")}\0`, 124);
    block.write(kind, 156);
    block.write("ustar", 257);
    return block;
  };
  const file = pathOf("large.tar");
  await writeFile(file, Buffer.concat([header("x", said.length), Buffer.from(said.padEnd(512, "\0")), header("0", 5)]));
  const end = 1_536 + Math.ceil(size / 512) * 512;
  // Takes no room: what was never written is not stored.
  await truncate(file, end);
  await requireWholeOnDisk(file, size);
  await truncate(file, end - 512);
  await expectRefused(requireWholeOnDisk(file, size), "short");
});
