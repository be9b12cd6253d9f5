import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const ADDRESSES = 24;
const PATHS = 1_000;
const PATH_LENGTH = 2_000;
const ips = Array.from({ length: ADDRESSES }, (_, number) => `45.0.0.${number}`);

let world: World;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.client.command({
    query: `
      INSERT INTO observations (observation_id, observed_at, dataset, sensor_id, source_ip, transport, http_path)
      SELECT toString(number), fromUnixTimestamp64Milli({at:Int64}, 'UTC'), 'global', 's', toIPv4('45.0.0.0') + intDiv(number, ${PATHS}),
        'tcp', rightPad('/' || toString(number), ${PATH_LENGTH}, 'x')
      FROM numbers(${ADDRESSES * PATHS})`,
    query_params: { at: NOW - 3_600_000 },
  });
});
afterAll(() => world.close());

test("addresses whose scanners sent 46 MB of distinct paths are read in parts, each complete and in order", async () => {
  const key = await world.addCaller("unlimited");
  const read: string[] = [];
  const counting = reader(world.client, {
    maxSeconds: 60,
    onEnd: (query, outcome) => query === "address-details" && read.push(outcome),
  });
  const app = await makeApp([], (made, metrics) => world.register(made, metrics, { read: counting }));
  const answer = await app.inject({ method: "POST", url: "/v3/ip", headers: { key }, payload: { ips } });
  await app.close();
  expect(answer.statusCode).toBe(200);
  expect(read.filter((outcome) => outcome === "answered").length).toBeGreaterThanOrEqual(4);
  const body: unknown = answer.json();
  const rawData = z.object({ http: z.object({ path: z.array(z.string()) }) });
  const found = z.object({ ip: z.string(), internet_scanner_intelligence: z.object({ raw_data: rawData }) });
  const { data } = z.object({ data: z.array(found) }).parse(body);
  expect(data.map(({ ip }) => ip)).toEqual(ips);
  for (const [number, { internet_scanner_intelligence }] of data.entries()) {
    const sent = Array.from({ length: PATHS }, (_, path) => `/${number * PATHS + path}`.padEnd(PATH_LENGTH, "x"));
    expect(internet_scanner_intelligence.raw_data.http.path).toEqual(sent.sort());
  }
});
