import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import getPort from "get-port";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";
import { environmentOf } from "../support/worlds/ingest-process.ts";
import { createWorld } from "../support/worlds/world.ts";

let commandLine: CommandLine;
beforeAll(async () => {
  commandLine = await openCommandLine();
});
afterAll(() => commandLine.close());

test("a start that leaves intake and metrics open to the network warns, and accepts nothing from foreign pages", async () => {
  const service = await commandLine.startService([], { HTTP_HOST: "0.0.0.0", PUBLIC_URL: "https://noise.example" });
  const said = service.errors();
  expect(said).toContain("every client that reaches this address can store observations: set SENSOR_KEYS");
  expect(said).toContain("every client that reaches this address can read /metrics: set METRICS_TOKEN");

  /** The status of a POST with this header, which `fetch` does not let callers set. */
  const post = async (headers: Record<string, string>) => {
    const sent = request(`${service.url}/v1/observations`, { method: "POST", headers });
    const observed_at = new Date().toISOString();
    sent.end(JSON.stringify({ observed_at, sensor_id: "s", source_ip: "45.1.1.1" }));
    const [answer]: IncomingMessage[] = await once(sent, "response");
    answer?.resume();
    return answer?.statusCode;
  };
  expect(await post({ origin: "https://foreign.example" })).toBe(403);
  expect(await post({ host: "foreign.example" })).toBe(403);
  for (const host of ["noise.example", "ingest:8080"]) expect(await post({ host })).toBe(202);
  expect(await post({})).toBe(202);
});

test("while /metrics is open, it names no sensor and no key of personal data", { timeout: 150_000 }, async () => {
  const world = await createWorld(Date.now);
  onTestFinished(() => world.close());
  const sent = {
    ...{ hour: Math.floor(Date.now() / 3_600_000) * 3_600_000, source: "http", isRest: false, format: "" },
    ...{ outcome: "accepted", process: "11111111-1111-4111-8111-111111111111", records: 50, lastAt: Date.now() },
  };
  await writeSensorCounts(world.client, [
    { ...sent, keyId: "", workspaceId: "", sensorId: "of-all" },
    { ...sent, keyId: "key-of-team", workspaceId: "team", sensorId: "of-a-team" },
  ]);
  const port = String(await getPort());
  const { errors } = commandLine.run(["ingest"], { ...environmentOf(world.connection), HTTP_PORT: port });
  const metrics = async () => (await fetch(`http://localhost:${port}/metrics`)).text();
  // On a busy machine the first report may fail; the next one follows after a minute.
  await eventually(async () => expect(await metrics(), errors()).toContain('{sensor="of-all"'), 120_000);
  expect(await metrics()).not.toMatch(/of-a-team|key-of-team/);
});
