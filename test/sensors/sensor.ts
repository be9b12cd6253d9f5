import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { runInProcess } from "../support/worlds/in-process.ts";
import { environmentOf } from "../support/worlds/ingest-process.ts";
import { createWorld } from "../support/worlds/world.ts";

/** Writes a sensor's files into a new folder. @returns that folder, which the test's end removes. */
export async function makeFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-sensor-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Starts a sensor in its folder, and waits until its output says that it is ready. It ends with the test. */
export async function startSensor(
  program: string,
  args: readonly string[],
  { folder, ready }: { readonly folder: string; readonly ready: RegExp },
): Promise<void> {
  // Cowrie takes the zone of its times from its environment alone.
  const env = { ...process.env, HOME: folder, PYTHONUNBUFFERED: "1", TZ: "UTC" };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const ended = new Promise((settle) => child.once("close", settle));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  await expect.poll(() => output, { timeout: 60_000 }).toMatch(ready);
}

/** The lines of a log, once it has as many that are like this. */
export async function readLog(file: string, pattern: RegExp, count: number): Promise<string> {
  return eventually(async () => {
    const text = await readFile(file, "utf8");
    expect(text.split("\n").filter((line) => pattern.test(line)).length).toBeGreaterThanOrEqual(count);
    return text;
  });
}

/** The scanner of these tests comes over the loopback, which no scan from the Internet does: its log gets this source. */
export const SCANNER = "192.175.48.9";
export const fromScanner = (log: string) =>
  log.replaceAll(/("(?:src_ip|src_host|source_ip|peerIP)": ?)"127\.0\.0\.1"/g, `$1"${SCANNER}"`);

const storedQuery = defineQuery({
  name: "test-sensor-stored",
  sql: `SELECT toFloat64(toUnixTimestamp64Milli(observed_at)) AS at, toString(source_ip) AS source, sensor_id AS sensor, transport, application, destination_port AS port,
      arrayMap(pair -> concat(pair.username, '/', pair.password), credentials) AS logins, login_attempts AS attempts, commands,
      http_method AS method, http_path AS path, http_user_agent AS agent, ssh_banner AS banner, ssh_hassh AS hassh,
      labels, established FROM observations FINAL ORDER BY observed_at, port`,
  params: z.object({}),
  row: z.object({
    /** Milliseconds since 1970. */
    at: z.number(),
    source: z.string(),
    sensor: z.string(),
    transport: z.string(),
    application: z.string(),
    port: z.int().nullable(),
    logins: z.array(z.string()),
    attempts: z.int(),
    commands: z.array(z.string()),
    method: z.string(),
    path: z.string(),
    agent: z.string(),
    banner: z.string(),
    hassh: z.string(),
    labels: z.array(z.string()),
    established: z.boolean(),
  }),
});

/** Replays a log as a user does. @returns the summary, and what is stored. */
export async function replayLog(log: string, format = "auto", env: Record<string, string> = {}) {
  const world = await createWorld(Date.now);
  onTestFinished(() => world.close());
  const folder = await makeFolder({ "sensor.log": log });
  const args = ["replay", join(folder, "sensor.log"), "--format", format, "--yes", "--json"];
  const { stdout, stderr } = await runInProcess(args, { ...env, ...environmentOf(world.connection) });
  const summary: unknown = JSON.parse(
    stdout.split("\n").find((line) => line.startsWith("{")) ?? JSON.stringify(stderr),
  );
  return { summary, rows: await run(world.client, storedQuery, {}) };
}
