import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runReplay } from "@noisefloor/cli/commands/replay.ts";
import type { ReplayOptions } from "@noisefloor/cli/replay/options.ts";
import { run } from "@noisefloor/clickhouse/client/query.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { readBackObservations } from "../../support/oracle/replayed-records.ts";
import { serveDocuments } from "../../support/servers/documents.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
let dataDir: string;
beforeEach(async () => {
  world = await createWorld(() => NOW);
  dataDir = await mkdtemp(join(tmpdir(), "noisefloor-replay-"));
});
afterEach(async () => {
  await world.close();
  await rm(dataDir, { recursive: true });
});

/** As T-Pot's Logstash stores it. */
const visit = (ip: string, time: number) => ({
  ...{ "@timestamp": new Date(time).toISOString(), timestamp: new Date(time).toISOString(), type: "Cowrie" },
  ...{ eventid: "cowrie.session.connect", session: `s-${ip}`, src_ip: ip, sensor: "pot", "t-pot_hostname": "hive" },
});

async function replayDocuments(host: string, options: Partial<ReplayOptions> = {}, signal?: AbortSignal) {
  const command = commandOver(world, undefined, signal);
  const settings = { ...command.settings, clickhouse: { ...command.settings.clickhouse, dataDir } };
  const source = { elasticsearch: `http://${host}`, index: "logs" };
  await runReplay(
    [],
    { format: "auto", json: true, ...source, ...options },
    { ...command, settings, signal: command.signal },
  );
  process.exitCode = undefined;
  return JSON.parse(command.lines.join(""));
}

test("a replay of an Elasticsearch that was stopped goes on where it was, and then every document is stored once", async () => {
  const old = NOW - 4_000 * 86_400_000;
  const documents = [
    { id: 0, time: old - 1, source: visit("45.0.0.1", NOW - 60_000) },
    ...Array.from({ length: 52_000 }, (_, index) => ({
      id: index + 1,
      time: old + index,
      source: visit("45.0.0.9", old),
    })),
    { id: 60_001, time: NOW - 50_000, source: visit("45.0.0.2", NOW - 50_000) },
    { id: 60_002, time: NOW - 50_000, source: visit("45.0.0.3", NOW - 50_000) },
  ];
  const stopping = new AbortController();
  const server = await serveDocuments(documents, [], async () => {
    // As soon as a position is kept.
    if ((await readdir(dataDir)).length > 0) stopping.abort();
  });
  onTestFinished(server.close);
  const stopped = await replayDocuments(server.host, { yes: true }, stopping.signal);
  expect(stopped).toMatchObject({ is_complete: false, accepted: 1 });
  expect(await readdir(dataDir)).toHaveLength(1);
  const rest = await replayDocuments(server.host, { yes: true });
  expect(rest).toMatchObject({ is_complete: true, accepted: 2, rejected: 0 });
  expect(rest.read).toBeLessThan(10_000);
  expect(await run(world.client, readBackObservations, {})).toMatchObject([
    { ip: "45.0.0.1", times: 1 },
    { ip: "45.0.0.2", times: 1 },
    { ip: "45.0.0.3", times: 1 },
  ]);
  expect(await readdir(dataDir)).toEqual([]);
  // All of it again counts nothing twice.
  expect(await replayDocuments(server.host, { since: "1d" })).toMatchObject({ read: 2, accepted: 2 });
  const until = new Date(NOW - 50_000).toISOString();
  expect(await replayDocuments(server.host, { since: "1d", until, keepGoing: true })).toMatchObject({ read: 0 });
  expect(await run(world.client, readBackObservations, {})).toHaveLength(3);
});

test("options that do not go together, and a server that is none, are said before anything is read", async () => {
  const fault = (options: Partial<ReplayOptions>, paths: readonly string[] = []) =>
    runReplay(paths, { format: "auto", ...options }, commandOver(world)).catch((error: unknown) =>
      error instanceof Error ? error.message : "",
    );
  expect(await fault({})).toBe('name files, folders or "-", or an --elasticsearch');
  expect(await fault({ since: "1d" }, ["a.log"])).toBe("--index, --query, --since and --until go with --elasticsearch");
  expect(await fault({ elasticsearch: "http://127.0.0.1:1" })).toBe(
    "--elasticsearch takes an --index, like 'logstash-*'",
  );
  expect(await fault({ elasticsearch: "http://127.0.0.1:1", index: "a" }, ["a.log"])).toBe(
    "either files or --elasticsearch",
  );
  expect(await fault({ elasticsearch: "http://127.0.0.1:1", index: "a", shiftTo: "now" })).toBe(
    "--shift-to goes with files alone",
  );
  expect(await fault({ elasticsearch: "http://127.0.0.1:1", index: "a" })).toMatch(
    /^http:\/\/127\.0\.0\.1:1 does not answer/,
  );
});
