import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runReplay } from "@noisefloor/cli/commands/replay.ts";
import type { ReplayOptions } from "@noisefloor/cli/replay/options.ts";
import { run } from "@noisefloor/clickhouse/client/query.ts";
import { readSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { observationLine as line } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { readBackDeadLetters, readBackObservations } from "../../support/oracle/replayed-records.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
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

const replayCommand = async (paths: string[], options: Partial<ReplayOptions>, signal?: AbortSignal) => {
  const command = commandOver(world, undefined, signal);
  let failure = "";
  try {
    await runReplay(paths, { format: "observations", ...options }, command);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  const { exitCode } = process;
  process.exitCode = undefined;
  return { output: command.lines.join("\n"), failure, exitCode };
};

test("an interrupted shifted replay continues with the time that it printed, and counts nothing twice", async () => {
  const file = join(folder, "old.ndjson");
  await writeFile(file, Array.from({ length: 40 }, (_, index) => line(`45.0.1.${index}`, 1_000 + index)).join("\n"));
  const stopping = new AbortController();
  const slow = replayCommand([file], { shiftTo: "now", rate: 10 }, stopping.signal);
  await eventually(async () => expect(await run(world.client, readBackObservations, {})).not.toEqual([]));
  stopping.abort();
  const stopped = await slow;
  expect(stopped.exitCode).toBe(130);
  const [, resolved = ""] = /the newest becomes (\S+Z)\.$/m.exec(stopped.output) ?? [];
  expect(stopped.output).toContain(`with --shift-to ${resolved} in the place of --shift-to now.`);
  expect(await replayCommand([file], { shiftTo: resolved })).toMatchObject({ failure: "", exitCode: undefined });
  const rows = await run(world.client, readBackObservations, {});
  expect(rows.map(({ times }) => times)).toEqual(Array.from({ length: 40 }, () => 1));
  expect(rows.at(-1)?.at).toBe(Date.parse(resolved));
});

test("a replay without an accepted record fails, and stops reading early unless --keep-going is given", async () => {
  const file = join(folder, "rubbish.ndjson");
  await writeFile(file, [...Array.from({ length: 10_500 }, () => "rubbish"), line("45.0.0.2", NOW)].join("\n"));
  const dry = await replayCommand([file], { dryRun: true });
  expect(dry.failure).toBe(
    "none of the first 10000 records was accepted, the rest was not read: they cannot be read as observations; " +
      "look at --format. With --keep-going the rest is read all the same",
  );
  expect(dry.output).toContain("read      10000\naccepted  0\nrejected  10000\n");
  const whole = await replayCommand([file], { keepGoing: true, dryRun: true });
  expect(whole).toMatchObject({ failure: "", output: expect.stringContaining("read      10501\naccepted  1\n") });
  const short = join(folder, "short.ndjson");
  await writeFile(short, "rubbish");
  expect((await replayCommand([short], {})).failure).toBe(
    "no record was accepted: they cannot be read as observations; look at --format",
  );
});

test("of an old log, what is older than the retention is counted as such and makes no dead letters; the rest is stored", async () => {
  const old = Array.from({ length: 10_500 }, (_, index) => line("45.0.0.1", 1_000 + index));
  const file = join(folder, "old.ndjson");
  await writeFile(file, [...old, "rubbish", line("45.0.0.2", NOW)].join("\n"));
  const summary =
    "read      10502\nstored    1\nrejected  1\n  not-json               1\nignored   10500\n  older-than-retention   10500\n";
  expect(await replayCommand([file], {})).toMatchObject({ failure: "", output: expect.stringContaining(summary) });
  expect(await run(world.client, readBackObservations, {})).toMatchObject([{ ip: "45.0.0.2" }]);
  expect(await run(world.client, readBackDeadLetters, {})).toMatchObject([{ reason: "not-json" }]);
  expect(await replayCommand([file], { shiftTo: "now", dryRun: true })).toMatchObject({
    failure: "",
    output: expect.stringContaining("accepted  1\nrejected  1\n"),
  });
  await writeFile(file, old.slice(0, 3).join("\n"));
  expect((await replayCommand([file], {})).failure).toBe(
    "no record was accepted: they are older than the retention; --shift-to now moves all times to the present",
  );
  const counted = (await readSensorCounts(world.client, Date.now())).map(({ week }) => week);
  expect(Object.assign({}, ...counted)).toEqual({ accepted: 1, "not-json": 1, ignored: 10_503 });
});

test("a dry run reports what would be accepted and rejected, and changes nothing", async () => {
  const file = join(folder, "a.ndjson");
  await writeFile(file, [line("45.0.0.1", NOW - 1_000), "rubbish"].join("\n"));
  const { output, failure } = await replayCommand([file], { dryRun: true });
  expect({ output, failure }).toEqual({ output: expect.stringContaining("accepted  1\nrejected  1\n"), failure: "" });
  expect(JSON.parse((await replayCommand([file], { dryRun: true, json: true })).output)).toEqual({
    dry_run: true,
    is_complete: true,
    read: 2,
    accepted: 1,
    rejected: 1,
    reasons: { "not-json": 1 },
    ignored: {},
  });
  expect([
    ...(await run(world.client, readBackObservations, {})),
    ...(await run(world.client, readBackDeadLetters, {})),
  ]).toEqual([]);
});

test("a replay in which the sensor itself is a source stores nothing without --yes, and names OWN_ADDRESSES", async () => {
  const event = (source: string, destination: string, index: number) =>
    JSON.stringify({
      ...{
        timestamp: new Date(NOW - 60_000 + index).toISOString(),
        flow_id: index + 1,
        event_type: "tls",
        proto: "TCP",
      },
      ...{
        src_ip: source,
        src_port: 40_000,
        dest_ip: destination,
        dest_port: 443,
        host: "tap",
        tls: { version: "TLS 1.2" },
      },
    });
  const lines = Array.from({ length: 300 }, (_, index) => {
    const ip = `45.1.${index >> 8}.${index & 255}`;
    return index % 4 === 0 ? event("45.0.0.1", ip, index) : event(ip, "45.0.0.1", index);
  });
  const file = join(folder, "eve.json");
  await writeFile(file, lines.join("\n"));
  const refused = await replayCommand([file], { format: "auto" });
  expect(refused.failure).toMatch(
    /^45\.0\.0\.1 looks like the own address of the sensor tap: .* source of 25 %\. Set OWN_ADDRESSES=45\.0\.0\.1, .* pass --yes/,
  );
  expect(await run(world.client, readBackObservations, {})).toEqual([]);
  expect(await replayCommand([file], { format: "auto", yes: true })).toMatchObject({ failure: "" });
  expect(await run(world.client, readBackObservations, {})).toHaveLength(300);
});
