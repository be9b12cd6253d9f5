import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

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
