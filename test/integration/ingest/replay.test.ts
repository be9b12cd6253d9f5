import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { run } from "@noisefloor/clickhouse/client/query.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { observationsFormat } from "@noisefloor/ingest/formats/observations.ts";
import type { RejectedRecord } from "@noisefloor/ingest/record.ts";
import { fileDeadLetter } from "@noisefloor/ingest/sources/file/dead-letters.ts";
import { openLogFiles } from "@noisefloor/ingest/sources/file/open-files.ts";
import { newestTime, type ReplayRecord, readRecords } from "@noisefloor/ingest/sources/file/records.ts";
import { ReplayError, replay } from "@noisefloor/ingest/sources/file/source.ts";
import { drySink } from "@noisefloor/ingest/store/sink.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { observationLine as line } from "../../support/builders/observation.ts";
import { PLAIN } from "../../support/ingest/decode.ts";
import { noCounts } from "../../support/ingest/no-counts.ts";
import { readBackDeadLetters, readBackObservations } from "../../support/oracle/replayed-records.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, RETENTION_DAYS, storingIn, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
/** Lines of files, enough for several inserts. */
const LARGE = atVolume(12_000, 60_000);
const CUT = atVolume(12_000, 40_000);
let world: World;
let folder: string;
beforeEach(async () => {
  world = await createWorld(() => NOW);
  folder = await mkdtemp(join(tmpdir(), "noisefloor-replay-"));
});
afterEach(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

const storeDeadLetters = (rejected: readonly RejectedRecord<ReplayRecord>[]) =>
  deadLetterStore(world.client, { now: () => NOW })(rejected.map(fileDeadLetter));

async function replayFiles(
  paths: readonly string[],
  options: { rate?: number; shiftTo?: number; stdin?: string; onBytes?: (n: number) => void } = {},
) {
  const reading = { formats: [observationsFormat], decode: PLAIN };
  const stdin = Readable.from([options.stdin ?? ""]);
  const { files, dispose } = await openLogFiles(paths, stdin, { reading, onSkipped: () => {} });
  const newest = options.shiftTo === undefined ? undefined : await newestTime(files, { ...reading, latest: NOW });
  const shiftMs = options.shiftTo === undefined || newest === undefined ? 0 : options.shiftTo - newest;
  const summary = await replay(
    readRecords(files, { ...reading, shiftMs, ...(options.onBytes ? { onBytes: options.onBytes } : {}) }),
    {
      catalogue: world.catalogue,
      retentionDays: () => RETENTION_DAYS,
      right: "everything",
      now: () => NOW,
      rate: options.rate,
      sink: storingIn(world.client),
      storeDeadLetters,
      counts: noCounts,
    },
  );
  await dispose();
  return summary;
}

test("the same file twice gives the same observations, while equal records within it are separate ones", async () => {
  const file = join(folder, "a.ndjson");
  const equal = line("45.0.0.1", NOW - 1_000);
  await writeFile(file, [equal, equal, line("45.0.0.2", NOW - 1_000), "rubbish", equal].join("\n"));
  const first = await replayFiles([file]);
  expect(first).toMatchObject({ read: 5, accepted: 4, rejected: 1, reasons: { "not-json": 1 } });
  const after = await run(world.client, readBackObservations, {});
  expect(after.map(({ ip, times }) => [ip, times])).toEqual([
    ["45.0.0.1", 3],
    ["45.0.0.2", 1],
  ]);
  expect(await replayFiles([file])).toMatchObject({ read: 5, accepted: 4, rejected: 1 });
  expect(await run(world.client, readBackObservations, {})).toEqual(after);
  expect(await run(world.client, readBackDeadLetters, {})).toEqual([
    {
      origin: expect.stringMatching(/^sha256:[0-9a-f]{32}$/),
      position: 1,
      reason: "not-json",
      detail: `the record is not JSON (${file}, record 4)`,
      payload: "rubbish",
    },
  ]);
});

test("the same bytes are the same dead letters: in a file of another name, packed, longer by now, or from standard input", async () => {
  const lines = ["rubbish", line("10.0.0.1", NOW - 1_000), "rubbish", line("10.0.0.1", NOW - 1_000), "other"];
  const text = lines.join("\n");
  await writeFile(join(folder, "a.ndjson"), text);
  await writeFile(join(folder, "b.ndjson.gz"), gzipSync(text));
  await writeFile(join(folder, "longer.ndjson"), `more\n${text}\nrubbish\n`);
  const keys = async () =>
    (await run(world.client, readBackDeadLetters, {})).map(({ origin, position }) => `${origin}/${position}`);
  expect(await replayFiles([join(folder, "a.ndjson")])).toMatchObject({ rejected: 5 });
  const first = await keys();
  expect(new Set(first).size).toBe(5);
  await replayFiles([join(folder, "b.ndjson.gz")]);
  await replayFiles(["-"], { stdin: text });
  expect(await keys()).toEqual(first);
  await replayFiles([join(folder, "longer.ndjson")]);
  const after = await keys();
  expect(after).toHaveLength(7);
  expect(after).toEqual(expect.arrayContaining(first));
});

test("all times move so that the newest falls on the given one, over all files together", async () => {
  const old = Date.parse("2013-09-08T05:55:10Z");
  await writeFile(join(folder, "a.ndjson"), `${line("45.0.0.1", old)}\n`);
  await writeFile(join(folder, "b.ndjson.gz"), gzipSync(`${line("45.0.0.2", old - 3_600_000)}\n`));
  const shiftTo = NOW - 5_000;
  expect(await replayFiles([join(folder, "a.ndjson"), join(folder, "b.ndjson.gz")], { shiftTo })).toMatchObject({
    accepted: 2,
  });
  expect(await run(world.client, readBackObservations, {})).toEqual([
    { ip: "45.0.0.2", at: shiftTo - 3_600_000, times: 1 },
    { ip: "45.0.0.1", at: shiftTo, times: 1 },
  ]);
});

test("without a shift, records older than the retention are counted as such, and are no dead letters", async () => {
  const file = join(folder, "old.ndjson");
  await writeFile(file, line("45.0.0.1", Date.parse("2013-09-08T05:55:10Z")));
  expect(await replayFiles([file])).toMatchObject({ accepted: 0, rejected: 0, ignored: { "older-than-retention": 1 } });
  expect(await run(world.client, readBackDeadLetters, {})).toEqual([]);
});

test("standard input can be shifted as well", async () => {
  const stdin = [line("45.0.0.1", 1_000_000), line("45.0.0.2", 2_000_000)].join("\n");
  expect(await replayFiles(["-"], { stdin, shiftTo: NOW })).toMatchObject({ read: 2, accepted: 2 });
});

test.each([
  ["plain", false],
  ["gzip", true],
])("a large %s file is read to its last record, and progress covers all of it", async (_name, isGzip) => {
  const lines = Array.from({ length: LARGE }, (_, index) =>
    line(`45.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, NOW - index),
  );
  const bytes = Buffer.from(lines.join("\n"));
  const file = join(folder, "large");
  const onDisk = isGzip ? gzipSync(bytes) : bytes;
  await writeFile(file, onDisk);
  let reported = 0;
  const summary = await replayFiles([file], { onBytes: (count) => (reported += count) });
  expect(summary).toMatchObject({ read: LARGE, accepted: LARGE, rejected: 0 });
  expect(reported).toBe(onDisk.length);
  expect(await run(world.client, readBackObservations, {})).toHaveLength(LARGE);
});

test("of a truncated file the readable part is stored, and the error has the summary", async () => {
  const lines = Array.from({ length: CUT }, (_, index) =>
    line(`45.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, NOW - index),
  );
  const whole = gzipSync(lines.join("\n"));
  const file = join(folder, "cut.gz");
  await writeFile(file, whole.subarray(0, Math.floor(whole.length * 0.7)));
  const failure = await replayFiles([file]).catch((error: unknown) => error);
  if (!(failure instanceof ReplayError)) throw failure;
  const { read, accepted } = failure.summary;
  expect(read).toBeGreaterThan(CUT / 2);
  expect(accepted).toBe(read);
  expect(await run(world.client, readBackObservations, {})).toHaveLength(read);
});

test("a batch is bounded by its bytes, too: long lines do not fill the memory", async () => {
  const bytes = Buffer.alloc(4 * 1024 * 1024, "x");
  async function* lines(): AsyncGenerator<ReplayRecord> {
    for (let position = 1; position <= 40; position++) yield { bytes, origin: "long", position, fallbackId: "" };
  }
  const batches: number[] = [];
  const summary = await replay(lines(), {
    catalogue: world.catalogue,
    retentionDays: () => RETENTION_DAYS,
    right: "everything",
    now: () => NOW,
    sink: drySink,
    counts: noCounts,
    storeDeadLetters: async (rejected) => void batches.push(rejected.length * bytes.length),
  });
  expect(summary).toMatchObject({ read: 40, accepted: 0, rejected: 40 });
  expect(Math.max(...batches)).toBeLessThanOrEqual(32 * 1024 * 1024);
});

test("a time of a wrong clock does not move the others", async () => {
  const file = join(folder, "odd.ndjson");
  const odd = ["9999-01-01T00:00:00Z", "+275760-09-13T00:00:00Z", "Nov 20 2026"].map((observed_at) =>
    JSON.stringify({ observed_at, sensor_id: "s", source_ip: "45.0.0.2" }),
  );
  await writeFile(file, [line("45.0.0.1", 1_000_000), ...odd].join("\n"));
  expect(await replayFiles([file], { shiftTo: NOW })).toMatchObject({ read: 4, accepted: 1, rejected: 3 });
  expect(await run(world.client, readBackObservations, {})).toEqual([{ ip: "45.0.0.1", at: NOW, times: 1 }]);
});

test("a rate is kept", async () => {
  const file = join(folder, "slow.ndjson");
  await writeFile(file, Array.from({ length: 30 }, (_, index) => line("45.0.0.1", NOW - index)).join("\n"));
  const started = Date.now();
  expect(await replayFiles([file], { rate: 10 })).toMatchObject({ accepted: 30 });
  expect(Date.now() - started).toBeGreaterThan(2_000);
});

test("a replay that is stopped has stored all records that it had read", async () => {
  const stopping = new AbortController();
  async function* endless(): AsyncGenerator<ReplayRecord> {
    for (let n = 0; ; n++) {
      if (n === 30_000) stopping.abort();
      const value = {
        observed_at: new Date(NOW - n).toISOString(),
        sensor_id: "s",
        source_ip: `45.7.${(n >> 8) & 255}.${n & 255}`,
      };
      yield {
        value,
        bytes: Buffer.from(JSON.stringify(value)),
        origin: "endless",
        position: n,
        fallbackId: `endless/${n}`,
      };
    }
  }
  const summary = await replay(endless(), {
    catalogue: world.catalogue,
    retentionDays: () => RETENTION_DAYS,
    right: "everything",
    now: () => NOW,
    stop: stopping.signal,
    sink: storingIn(world.client),
    storeDeadLetters,
    counts: noCounts,
  });
  expect(summary.read).toBeGreaterThanOrEqual(30_000);
  expect(summary).toMatchObject({ accepted: summary.read, rejected: 0 });
});
