import { type Read, reader } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
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
  await store({ first: "45.0.0.0", addresses: ADDRESSES, paths: PATHS, length: PATH_LENGTH });
});
afterAll(() => world.close());

type Paths = { readonly first: string; readonly addresses: number; readonly paths: number; readonly length: number };

/** Stores consecutive addresses from the first one on, each with distinct paths of the same length. */
async function store({ first, addresses, paths, length }: Paths): Promise<void> {
  await world.client.insertSelect({
    query: `
      INSERT INTO ${OBSERVATIONS} (observation_id, observed_at, dataset, sensor_id, source_ip, transport, http_path)
      SELECT toString(number), fromUnixTimestamp64Milli({at:Int64}, 'UTC'), 'global', 's', toIPv4({first:String}) + intDiv(number, {paths:UInt32}),
        'tcp', rightPad('/' || toString(number), {length:UInt32}, 'x')
      FROM numbers({rows:UInt64})`,
    query_params: { at: NOW - 3_600_000, first, paths, length, rows: addresses * paths },
  });
}

const rawData = z.object({ http: z.object({ path: z.array(z.string()) }) });
const found = z.object({ ip: z.string(), internet_scanner_intelligence: z.object({ raw_data: rawData }) });
const foundSchema = z.object({ data: z.array(found) });

const readSchema = z.object({ ips: z.array(z.string()) });

/** The addresses found with their paths, in the order of the answer; how each query for details ended, and of which. */
async function askFor(asked: readonly string[]) {
  const key = await world.addCaller("unlimited");
  const outcomes: string[] = [];
  const counting = reader(world.client, {
    maxSeconds: 60,
    onEnd: (query, outcome) => query === "address-details" && outcomes.push(outcome),
  });
  const queried: string[][] = [];
  const read: Read = (definition, params, signal) => {
    if (definition.name === "address-details") queried.push(readSchema.parse(params).ips);
    return counting(definition, params, signal);
  };
  const app = await makeApp([], (made, metrics) => world.register(made, metrics, { read }));
  const answer = await app.inject({ method: "POST", url: "/v3/ip", headers: { key }, payload: { ips: asked } });
  await app.close();
  expect(answer.statusCode).toBe(200);
  const { data } = foundSchema.parse(answer.json());
  const entries = data.map(({ ip, internet_scanner_intelligence: { raw_data } }) => [ip, raw_data.http.path] as const);
  return { outcomes, queried, entries };
}

test("addresses whose scanners sent 46 MB of distinct paths are read in parts, each complete and in order", async () => {
  const { outcomes, entries } = await askFor(ips);
  expect(outcomes.filter((outcome) => outcome === "answered").length).toBeGreaterThanOrEqual(4);
  expect(entries.map(([ip]) => ip)).toEqual(ips);
  for (const [number, [, paths]] of entries.entries()) {
    const sent = Array.from({ length: PATHS }, (_, path) => `/${number * PATHS + path}`.padEnd(PATH_LENGTH, "x"));
    expect(paths).toEqual(sent.sort());
  }
});

test.each([
  { what: "short paths", first: "45.1.0.0", length: 20, ended: ["answered"] },
  { what: "7 MB of paths", first: "45.2.0.0", length: 5_000, ended: ["refused", "answered"] },
])(
  "the details of 1,400 addresses with $what are answered in the order of the request",
  async ({ first, length, ended }) => {
    const MANY = 1_400;
    await store({ first, addresses: MANY, paths: 1, length });
    const [network] = first.split(".0.0");
    const addressOf = (number: number) => `${network}.${number >> 8}.${number & 255}`;
    // Every number once, far from its neighbors, and as many addresses that were never seen.
    const numbers = Array.from({ length: MANY }, (_, index) => (index * 393) % MANY);
    const asked = numbers.flatMap((number) => [addressOf(number + MANY), addressOf(number)]);
    const { outcomes, queried, entries } = await askFor(asked);
    const inOrder = Array.from({ length: MANY }, (_, number) => addressOf(number));
    // In the table's order first. What was refused is read again, in parts of the request.
    expect(queried[0]).toEqual(inOrder.slice(0, 1_250));
    if (ended.length === 1) expect(queried.flat()).toEqual(inOrder);
    expect(entries).toEqual(numbers.map((number) => [addressOf(number), [`/${number}`.padEnd(length, "x")]]));
    expect(new Set(outcomes)).toEqual(new Set(ended));
  },
);
