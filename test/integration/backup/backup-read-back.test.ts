import { copyFile, cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backUpDatabase, type MadeBackup, verifyBackup } from "@noisefloor/clickhouse/backup/backup.ts";
import { assertWholeOnDisk } from "@noisefloor/clickhouse/backup/backup-files.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readScratchDatabases } from "../../support/worlds/backups.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const options = { signal: new AbortController().signal };

// A server on this machine, as backups are files of the server's machine.
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
  for (const name of ["whole", "whole.tar.zst", "whole.tar.gz"]) {
    const backup = await backUpDatabase(world.client, world.connection.database, placeOf(name), options);
    if (backup === undefined) throw new Error("the backup was cancelled");
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

/** The checks of a new backup before it gets its final name. */
async function verify(name: string, of = name): Promise<boolean> {
  await assertWholeOnDisk(pathOf(name), made.get(of)?.storedBytes ?? 0);
  return verifyBackup(world.client, world.connection.database, placeOf(name), options);
}

const verifyByServer = (name: string) => verifyBackup(world.client, world.connection.database, placeOf(name), options);

async function expectRejected(check: Promise<unknown>, what: string, reason = /./): Promise<void> {
  const error = await check.then(String, (thrown: unknown) => thrown);
  expect(error, what).toMatchObject({
    name: "BackupError",
    message: expect.stringMatching(/^the backup cannot be read back: .*\. Is the disk full\?$/),
  });
  expect(String(error), what).toMatch(reason);
  expect(String(error), what).not.toMatch(/Code: |[a-z]::[A-Z]|version \d|\([A-Z_]+\)/);
}

test.each(["whole", "whole.tar.zst", "whole.tar.gz"])("the intact backup %s passes the check", async (name) => {
  expect(await verify(name)).toBe(true);
  expect(await readScratchDatabases(world), "nothing is left behind").toEqual([]);
});

test.each(["whole.tar.zst", "whole.tar.gz"])("an archive %s that is cut off anywhere fails the check", async (name) => {
  const { size } = await stat(pathOf(name));
  for (const cut of [1, 2_000, 20_000, size >> 1, size - 700, size]) {
    await copyFile(pathOf(name), pathOf(`cut.${name}`));
    await truncate(pathOf(`cut.${name}`), size - cut);
    await expectRejected(verify(`cut.${name}`, name), `without its last ${cut} bytes of ${size}`);
    // For a server on another machine this check is the only one.
    await expectRejected(verifyByServer(`cut.${name}`), `by the server, without its last ${cut} bytes`);
  }
  expect(await readScratchDatabases(world)).toEqual([]);
});

test.each(["whole.tar.gz", "whole.tar.zst"])("a gap in the middle of the archive %s fails the check", async (name) => {
  const bytes = await readFile(pathOf(name));
  for (const gap of [512, 4_096, 65_536]) {
    for (let start = 8_192; start + gap < bytes.length; start += bytes.length >> 3) {
      await writeFile(pathOf(`gap.${name}`), Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + gap)]));
      await expectRejected(verify(`gap.${name}`, name), `${gap} bytes from ${start}`);
    }
  }
});

test.each([
  ["whole.tar.gz", 8],
  ["whole.tar.zst", 4],
])("an archive %s whose checksum does not match is found", async (name, fromEnd) => {
  const bytes = await readFile(pathOf(name));
  bytes.writeUInt8((bytes.at(-fromEnd) ?? 0) ^ 1, bytes.length - fromEnd);
  await writeFile(pathOf(`checksum.${name}`), bytes);
  await expectRejected(verify(`checksum.${name}`, name), "with one bit of its checksum flipped");
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
  ["has an empty manifest", (name) => truncate(pathOf(join(name, ".backup")))],
])("a folder that %s fails the check", async (damageName, damage) => {
  const name = damageName.replaceAll(" ", "-");
  await cp(pathOf("whole"), pathOf(name), { recursive: true });
  await damage(name);
  await expectRejected(verify(name, "whole"), damageName, /\d+ of its \d+ bytes are there/);
});

test.each([
  ["empty", 0],
  ["cut off", 5_000],
])("a server finds a manifest that is %s", async (damageName, size) => {
  await cp(pathOf("whole"), pathOf(damageName), { recursive: true });
  await truncate(pathOf(join(damageName, ".backup")), size);
  await expectRejected(verifyByServer(damageName), damageName);
});
