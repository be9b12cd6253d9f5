import { createWriteStream } from "node:fs";
import { appendFile, copyFile, mkdtemp, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type KnownEvent, toWire } from "../support/builders/known-events.ts";
import type { Random } from "../support/builders/random.ts";
import { eventually } from "../support/eventually.ts";
import type { IngestProcess } from "../support/worlds/ingest-process.ts";
import type { Scenario } from "./scenario.ts";

const WRITERS = 10;
const pack = promisify(gzip);

/** A program that logs to a file, which it or logrotate rotates in every way there is. */
type Writer = { readonly path: string; rotated: number };

/**
 * Ten programs write and rotate their logs while the intake is killed again and again, ClickHouse too, and the disk is
 * full for a while. All lines must be stored, each once.
 */
export const follow: Scenario = {
  name: "follow",
  promise:
    "files that ten programs write and rotate in every way are stored line by line, each once, whatever is killed",
  events: { soak: 3_000_000, test: 12_000 },
  async play(stage, extent, say) {
    const { events, random, servers } = stage;
    const [rotations, kills] = extent === "soak" ? [1_000, 30] : [60, 3];
    const folder = await mkdtemp(join(tmpdir(), "noisefloor-soak-"));
    const start = (more: Record<string, string> = {}) =>
      stage.ingest({ KAFKA_BROKERS: "", FOLLOW: join(folder, "*"), ...more });
    try {
      const writers = Array.from({ length: WRITERS }, (_, index): Writer => {
        return { path: join(folder, `program-${index}.json`), rotated: 0 };
      });
      let ingest = await start();
      const share = Math.ceil(events.length / rotations);
      for (let turn = 0; turn < rotations; turn++) {
        const writer = random.pick(writers);
        await write(writer, events.slice(turn * share, (turn + 1) * share), random);
        await rotate(writer, random);
        if (random.chance(0.2)) await sleep(random.int(0, 500));
        const [before, after] = [turn, turn + 1].map((count) => Math.floor((count * kills) / rotations));
        if (before === after) continue;
        if (random.chance(0.7)) await listening(ingest);
        await sleep(random.int(0, 2_000));
        await ingest.kill();
        // A store that must not grow takes nothing for a while.
        if (after === 2) {
          const full = await start({ MIN_FREE_DISK_MIB: "100000000" });
          await listening(full);
          await sleep(2_000);
          await full.kill();
        }
        ingest = await start();
        if (random.chance(0.3)) {
          // Without ClickHouse it would not start.
          await listening(ingest);
          await servers.store.kill();
          await sleep(random.int(0, 1_500));
          await servers.store.start();
        }
        if (extent === "test" || (after ?? 0) % 5 === 0) say(`${after} of ${kills} kills, ${turn + 1} rotations`);
      }
      await untilStored(ingest);
      say("all is stored");
      // Of millions every row is compared; answers are those of the other scenarios.
      await stage.verify(extent === "soak" ? 0 : 3);
      await ingest.terminate();
      return `${rotations} rotations, ${kills} SIGKILL of the intake, ClickHouse killed and full`;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const listening = (ingest: IngestProcess) =>
  eventually(async () => {
    const exit = ingest.unexpectedExit();
    if (exit !== undefined) throw new Error(exit);
    await ingest.metric("noisefloor_followed_files");
  }, 60_000);

/** Writes lines in two pieces, which may end in the middle of one. */
async function write(writer: Writer, events: readonly KnownEvent[], random: Random): Promise<void> {
  const text = events.map((event) => `${JSON.stringify(toWire(event))}\n`).join("");
  const cut = random.chance(0.5) ? text.length : random.int(0, text.length);
  await appendFile(writer.path, text.slice(0, cut));
  if (random.chance(0.3)) await sleep(random.int(0, 50));
  await appendFile(writer.path, text.slice(cut));
}

async function rotate(writer: Writer, random: Random): Promise<void> {
  const { path } = writer;
  const old = `${path}.${++writer.rotated}`;
  const way = random.int(0, 4);
  if (way === 0) await rename(path, old);
  else if (way === 1) {
    await copyFile(path, old);
    await truncate(path);
  } else if (way === 2) {
    // A copy, packed before the file is emptied, as T-Pot does.
    await writeFile(`${old}.gz`, await pack(await readFile(path)));
    await truncate(path);
  } else if (way === 3) {
    await rename(path, old);
    await writePacked(old, random);
  } else {
    // Packed later than it is renamed, by a program that takes its time.
    await rename(path, old);
    await sleep(random.int(0, 300));
    await writePacked(old, random);
  }
  if (way !== 1 && way !== 2) await writeFile(path, "");
}

/** Packs a file piece by piece, and removes it. */
async function writePacked(path: string, random: Random): Promise<void> {
  const packed = await pack(await readFile(path));
  const middle = random.int(0, packed.length);
  const stream = createWriteStream(`${path}.gz`);
  stream.write(packed.subarray(0, middle));
  await sleep(random.int(0, 30));
  await new Promise<void>((settle) => stream.end(packed.subarray(middle), () => settle()));
  await rm(path);
}

/** Without progress for so long, the intake has stalled. */
const STANDSTILL_MS = 60_000;

/** Resolves once nothing lags for five seconds: by then a new file would be found. */
async function untilStored(ingest: IngestProcess): Promise<void> {
  let [last, quiet, movedAt] = [Number.NaN, 0, Date.now()];
  while (quiet < 5) {
    await sleep(1_000);
    // Not there before it listens.
    const lag = await ingest.metric("noisefloor_followed_lag_bytes").catch(() => Number.NaN);
    if (lag !== last) movedAt = Date.now();
    if (lag !== 0 && Date.now() - movedAt > STANDSTILL_MS) {
      throw new Error(`${lag} bytes are not stored: ${ingest.log().slice(-1_500)}`);
    }
    quiet = lag === 0 ? quiet + 1 : 0;
    last = lag;
  }
}
