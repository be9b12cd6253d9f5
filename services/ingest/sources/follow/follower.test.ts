import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { FollowedFile } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { atVolume } from "../../../../test/support/volume.ts";
import { LOG_FORMATS } from "../../formats/all.ts";
import { readTarget } from "./files/targets.ts";
import { type Follower, type PositionStore, startFollower } from "./follower.ts";

const PACE = { hotMs: 10, scanMs: 25, flushMs: 15, pauseMs: 20 };

/** A follower of a folder whose process may be killed, and what it has stored. */
async function followFolder(pattern: (folder: string) => string = (folder) => join(folder, "*")) {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-test-"));
  const kept = new Map<string, FollowedFile>();
  const stored = new Map<string, string>();
  let times = 0;
  let isKilled = { value: false };
  let failures = 0;
  let follower: Follower | undefined;
  const start = async () => {
    const killed = { value: false };
    isKilled = killed;
    const positions: PositionStore = {
      read: async () => structuredClone([...kept.values()]),
      async write(files) {
        if (!killed.value) for (const file of files) kept.set(file.id, structuredClone(file));
      },
    };
    follower = await startFollower({
      targets: [readTarget(pattern(folder), { formats: LOG_FORMATS, decode: PLAIN })],
      positions,
      now: Date.now,
      log: pino({ level: "silent" }),
      pace: PACE,
      store({ records }) {
        const work = async () => {
          if (killed.value) throw new Error("this process is no more");
          if (failures > 0) {
            failures--;
            throw new Error("the store is away");
          }
          await sleep(1);
          for (const { value, bytes } of records) {
            times++;
            stored.set(String(Object(value).observation_id), bytes.toString("utf8"));
          }
        };
        const done = work();
        done.catch(() => {});
        return { prepared: Promise.resolve(), stored: done };
      },
    });
  };
  await start();
  onTestFinished(async () => {
    await follower?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    path: (name: string) => join(folder, name),
    lines: () => [...stored.values()].sort(),
    times: () => times,
    failures: () => failures,
    files: () => follower?.files() ?? [],
    fail(times: number) {
      failures = times;
    },
    stop: async () => {
      await follower?.stop();
      follower = undefined;
    },
    start,
    /** What the process had in memory is lost. */
    async kill() {
      isKilled.value = true;
      const gone = follower;
      follower = undefined;
      void gone?.stop();
      await start();
    },
  };
}

let number = 0;
const line = (padding = 0) =>
  JSON.stringify({
    eventid: "cowrie.login.failed",
    username: "root",
    password: `${++number}${"x".repeat(padding)}`,
    timestamp: "2026-11-20T13:00:00.000000Z",
    src_ip: "45.83.64.9",
    session: `s${number}`,
  });

const TURNS = atVolume(100, 1_000);
/** Of the random life; printed where it fails. */
const SEED = Date.now() % 1e9;

function xorshift(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const settled = (world: Awaited<ReturnType<typeof followFolder>>, lines: readonly string[]) =>
  expect.poll(() => world.lines(), { timeout: 20_000, interval: 20 }).toEqual([...lines].sort());

test("lines of a file that grows are stored once, whole, also after a restart", async () => {
  const world = await followFolder();
  const lines = [line(), line(), line()];
  const [one = "", two = "", three = ""] = lines;
  writeFileSync(world.path("log.json"), `${one}\n${two.slice(0, 20)}`);
  await settled(world, [one]);
  appendFileSync(world.path("log.json"), `${two.slice(20)}\n`);
  await settled(world, [one, two]);
  await world.stop();
  appendFileSync(world.path("log.json"), `${three}\n`);
  await world.start();
  await settled(world, lines);
  expect(world.times()).toBe(3);
});

test("a last line without an end is stored once it is a whole object, and never in halves", async () => {
  const world = await followFolder();
  const whole = line();
  writeFileSync(world.path("log.json"), whole.slice(0, -1));
  await sleep(300);
  expect(world.lines()).toEqual([]);
  appendFileSync(world.path("log.json"), "}");
  await settled(world, [whole]);
  appendFileSync(world.path("log.json"), "\n");
  await sleep(200);
  expect(world.times()).toBe(1);
});

test("what a renamed and a truncated file still held is read, and nothing twice", async () => {
  const world = await followFolder();
  const lines: string[] = [];
  const add = (padding?: number) => {
    const next = line(padding);
    lines.push(next);
    return `${next}\n`;
  };
  const log = world.path("log.json");
  writeFileSync(log, add(5_000) + add());
  await settled(world, lines);
  appendFileSync(log, add());
  renameSync(log, world.path("log.json.1"));
  writeFileSync(log, add(6_000));
  await settled(world, lines);
  appendFileSync(log, add());
  // As logrotate does with copytruncate.
  copyFileSync(log, world.path("log.json.2"));
  truncateSync(log);
  appendFileSync(log, add());
  await settled(world, lines);
  // As logrotate does with compress.
  await world.stop();
  writeFileSync(log, `${add(5_000)}${add()}`);
  writeFileSync(world.path("log.json.3.gz"), gzipSync(Buffer.from(lines.slice(-2).join("\n").concat("\n"))));
  await world.start();
  await settled(world, lines);
  expect(world.times()).toBe(lines.length);
});

test("a removed file is read to its end, a link and what it leads to are one file, and a restored copy is known", async () => {
  const world = await followFolder();
  const [first, second, third] = [line(5_000), line(), line()];
  const log = world.path("log.json");
  writeFileSync(log, `${first}\n`);
  symlinkSync(log, world.path("current"));
  await settled(world, [first]);
  copyFileSync(log, world.path("backup.json"));
  appendFileSync(log, `${second}\n`);
  rmSync(log);
  await settled(world, [first, second]);
  await world.stop();
  appendFileSync(world.path("backup.json"), `${second}\n${third}\n`);
  await world.start();
  await settled(world, [first, second, third]);
  expect(world.times()).toBe(3);
});

test("a file that is removed while its lines cannot be stored is read once they can", async () => {
  const world = await followFolder();
  const [first, second] = [line(), line()];
  writeFileSync(world.path("log.json"), `${first}\n`);
  await settled(world, [first]);
  world.fail(5);
  appendFileSync(world.path("log.json"), `${second}\n`);
  await expect.poll(world.failures).toBeLessThan(5);
  rmSync(world.path("log.json"));
  await settled(world, [first, second]);
});

test("a random life of files: each line counts once, whatever is renamed, truncated, packed, killed or away", async () => {
  const world = await followFolder();
  const lines: string[] = [];
  const draw = xorshift(SEED);
  const random = (below: number) => Math.floor(draw() * below);
  const logs = ["a.json", "b.json", "c.json"];
  let half = "";
  let rotations = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    const name = logs[random(3)] ?? "";
    const log = world.path(name);
    const write = (text: string) => appendFileSync(log, text);
    const finish = () => {
      if (half !== "") appendFileSync(world.path("a.json"), `${half}\n`);
      half = "";
    };
    const kind = random(12);
    if (kind < 5) {
      if (name === "a.json") finish();
      for (let count = random(20); count >= 0; count--) {
        const next = line(random(3) === 0 ? 5_000 : 0);
        lines.push(next);
        write(`${next}\n`);
      }
    } else if (kind === 5) {
      finish();
      const next = line(100);
      lines.push(next);
      appendFileSync(world.path("a.json"), next.slice(0, 40));
      half = next.slice(40);
    } else if (kind === 6 && existsSync(log)) {
      if (name === "a.json") finish();
      renameSync(log, `${log}.${++rotations}`);
    } else if (kind === 7 && existsSync(log)) {
      if (name === "a.json") finish();
      copyFileSync(log, `${log}.${++rotations}`);
      truncateSync(log);
    } else if (kind === 8 && rotations > 0) {
      const old = logs.map((one) => `${world.path(one)}.${rotations}`).find(existsSync);
      if (old !== undefined) {
        writeFileSync(`${old}.gz`, gzipSync(readFileSync(old)));
        rmSync(old);
      }
    } else if (kind === 9) await world.kill();
    else if (kind === 10) world.fail(2);
    else await sleep(random(60));
  }
  if (half !== "") appendFileSync(world.path("a.json"), `${half}\n`);
  const missing = () => {
    const stored = new Set(world.lines());
    return lines.filter((one) => !stored.has(one)).map((one) => Number(/"password":"(\d+)/.exec(one)?.[1]));
  };
  await expect.poll(missing, { timeout: 20_000, message: `seed ${SEED}` }).toEqual([]);
  expect(world.lines()).toHaveLength(lines.length);
});

test("a record without a time of its own is the same record after a kill", async () => {
  const world = await followFolder();
  const entry = (peer: number) =>
    `{'action': 'connection', 'server': 'ftp_server', 'src_ip': '45.83.64.${peer}', 'src_port': '4', 'dest_ip': '10.0.0.1', 'dest_port': '21'}\n`;
  for (let peer = 1; peer < 20; peer++) {
    appendFileSync(world.path("honeypots.log"), entry(peer));
    if (peer % 3 === 0) await world.kill();
    await sleep(7);
  }
  await expect.poll(() => world.lines().length, { timeout: 10_000 }).toBe(19);
  await sleep(300);
  expect(world.lines()).toHaveLength(19);
});

test("a file that no format knows, or that cannot be unpacked, is named with its remedy and stores nothing", async () => {
  const world = await followFolder();
  writeFileSync(world.path("notes.txt"), "hello\nthis is no log\n");
  writeFileSync(world.path("old.json.xz"), Buffer.from("fd377a585a0000", "hex"));
  writeFileSync(world.path("cut.json.gz"), gzipSync(Buffer.from(`${line(9_000)}\n`)).subarray(0, 60));
  await expect
    .poll(() =>
      world
        .files()
        .map(({ state }) => state)
        .sort(),
    )
    .toContain("unknown-format");
  const states = new Map(world.files().map(({ path, state, detail }) => [path, `${state}: ${detail}`]));
  expect(states.get(world.path("old.json.xz"))).toContain("xz");
  await expect
    .poll(() => world.files().find(({ path }) => path.endsWith("notes.txt"))?.detail)
    .toContain("no format knows");
  expect(world.lines()).toEqual([]);
});
