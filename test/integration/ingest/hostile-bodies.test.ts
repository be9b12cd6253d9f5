import { gzipSync } from "node:zlib";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { HOSTILE_JSON, nestedArrays, nestedObjects } from "../../support/builders/hostile-json.ts";
import { observationLine } from "../../support/builders/observation.ts";
import { longestTurn } from "../../support/longest-turn.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { atVolume } from "../../support/volume.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const MIB = 1024 * 1024;
/** Milliseconds of processor time, with room for a busy machine. A fault takes seconds. */
const MAX_TURN_MS = 250;
/** The largest body is of 32 MiB: of a smaller one, a fault would hardly take longer than a busy machine does. */
const BODY_BYTES = 31 * MIB;
/** The largest record of a sensor is of 1 MiB. */
const RECORD_BYTES = MIB - 256;

let world: World;
let app: FastifyInstance;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  app = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, () => NOW)).register);
  // Code that runs for the first time takes longest.
  for (const { url, write } of Object.values(WAYS)) await post(url, packed(write(cowrie('"s"'), good("45.9.0.9"))));
});
afterAll(async () => {
  await app.close();
  await world.close();
});

const packed = (body: string) => gzipSync(body, { level: 1 });

async function post(url: string, payload: Buffer): Promise<{ status: number; text: string }> {
  const answer = await app.inject({ method: "POST", url, headers: { "content-encoding": "gzip" }, payload });
  return { status: answer.statusCode, text: answer.body };
}

const good = (ip: string) => observationLine(ip, NOW - 1_000);
/** A record of Cowrie with a JSON value as one of its members. */
const cowrie = (value: string) =>
  `{"eventid":"cowrie.login.failed","timestamp":"${new Date(NOW).toISOString()}","src_ip":"45.9.0.1","session":${value}}`;
const toTpot = (record: string) =>
  record.replace("{", `{"type":"Cowrie","@timestamp":"${new Date(NOW).toISOString()}",`);

/** The ways in, each with a body of a hostile record and of a good observation. */
const WAYS: Readonly<Record<string, { url: string; write: (hostile: string, good: string) => string }>> = {
  "lines of observations": { url: "/v1/observations", write: (hostile, one) => `${hostile}\n${one}` },
  "an array of observations": { url: "/v1/observations", write: (hostile, one) => `[${hostile},${one}]` },
  "lines in any format": { url: "/v1/observations?format=auto", write: (hostile, one) => `${hostile}\n${one}` },
  "lines of Cowrie": { url: "/v1/observations?format=cowrie", write: (hostile, one) => `${hostile}\n${one}` },
  "T-Pot": { url: "/", write: (hostile, one) => `[${hostile},${one}]` },
  "Splunk's collector": {
    url: "/services/collector/event",
    write: (hostile, one) => `{"event":${hostile}} {"event":${one}}`,
  },
  "Elasticsearch's bulk": {
    url: "/_bulk",
    write: (hostile, one) => `{"index":{}}\n${hostile}\n{"index":{}}\n${one}\n`,
  },
  OpenTelemetry: {
    url: "/v1/logs",
    write: (...records) =>
      `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records.map((record) => `{"body":{"stringValue":${JSON.stringify(record)}}}`).join()}]}]}]}`,
  },
  Loki: {
    url: "/loki/api/v1/push",
    write: (...lines) => JSON.stringify({ streams: [{ values: lines.map((line) => ["1", line]) }] }),
  },
};

const BODY_WAYS = ["an array of observations", "Splunk's collector", "Elasticsearch's bulk", "OpenTelemetry"];
const WORST = ["nested arrays", "objects with a name of their own each"];
const RECORD_WAYS = ["lines in any format", "T-Pot", "Splunk's collector", "Elasticsearch's bulk", "OpenTelemetry"];

/** How long a body holds up others at most, once it has arrived. */
async function turnOf(way: string, body: string): Promise<number> {
  const payload = packed(body);
  return longestTurn(async () => expect((await post(WAYS[way]?.url ?? "", payload)).status).toBeLessThan(500));
}

/** The others are read like one of these. */
const SHAPES = Object.entries(HOSTILE_JSON).filter(([name]) => atVolume(WORST.includes(name), true));

test.each(SHAPES)("%s hold up no other request, in large bodies and in large records", async (_name, make) => {
  const [body, record] = [make(BODY_BYTES), make(RECORD_BYTES)];
  const slow: string[] = [];
  const measure = async (way: string, hostile: string, neighbour: string) => {
    const turn = await turnOf(way, WAYS[way]?.write(hostile, neighbour) ?? "");
    if (turn > MAX_TURN_MS) slow.push(`${way}: ${turn} ms`);
  };
  for (const way of BODY_WAYS) await measure(way, body, good("45.9.0.3"));
  for (const way of RECORD_WAYS) await measure(way, cowrie(record), cowrie('"s"'));
  expect(slow).toEqual([]);
});

const reasons = defineQuery({
  name: "test-reasons",
  sql: "SELECT reason, count() AS count FROM dead_letters FINAL GROUP BY reason",
  params: z.object({}),
  row: z.object({ reason: z.string(), count: z.coerce.number() }),
});
const countOversize = async () =>
  (await run(world.client, reasons, {})).find(({ reason }) => reason === "oversize")?.count ?? 0;

test.each(Object.keys(WAYS))("in %s a record of any depth is a dead letter, and the others are stored", async (way) => {
  const { url, write } = WAYS[way] ?? { url: "", write: () => "" };
  const before = await countOversize();
  const depths = [100_000, ...atVolume([], [1_000, 1_000_000])];
  const records = depths.flatMap((levels) => [cowrie(nestedArrays(levels)), cowrie(nestedObjects(levels))]);
  for (const [index, record] of records.entries()) {
    const ip = `45.8.${Object.keys(WAYS).indexOf(way)}.${index}`;
    const one = url.includes("cowrie") || url === "/" ? cowrie('"s"').replace("45.9.0.1", ip) : good(ip);
    const answer = await post(url, packed(write(record, url === "/" ? toTpot(one) : one)));
    expect(answer.status, answer.text).toBeLessThan(300);
    expect((await readStored(world)).map((row) => row.ip)).toContain(ip);
  }
  expect(await countOversize()).toBe(before + records.length);
});

test("no depth of a body is an error of ours, on any path that takes one", async () => {
  const paths = [...INGEST_OPERATIONS, ...QUERY_OPERATIONS].filter(({ method }) => method === "POST");
  const key = await world.addCaller("unlimited", []);
  for (const levels of [100_000, ...atVolume([], [10, 1_000, 1_000_000])]) {
    for (const nested of [nestedArrays(levels), nestedObjects(levels)]) {
      for (const body of [nested, `{"ips":${nested}}`, `{"ips":["45.9.0.9"],"more":${nested}}`]) {
        for (const { path } of paths) {
          const to = INGEST_OPERATIONS.some((operation) => operation.path === path) ? app : world.app;
          const headers = { "content-type": "application/json", ...(to === world.app && { key }) };
          const turn = await longestTurn(async () => {
            const answer = await to.inject({ method: "POST", url: path, headers, payload: body });
            expect(answer.statusCode, `${path} ${levels}`).toBeLessThan(500);
          });
          expect(turn, `${path} ${levels}`).toBeLessThan(MAX_TURN_MS);
        }
      }
    }
  }
});
