import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { z } from "zod";
import { openCommandLine } from "../../support/worlds/command-line.ts";
import { environmentOf, startIngest } from "../../support/worlds/ingest-process.ts";
import { makeTag } from "../../support/worlds/world.ts";
import { against, type Line } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { makeEvents, messagesOf, writeNdjson } from "../peers/events.ts";
import { startKafkaEngine } from "../peers/kafka-engine.ts";
import { RAW_FORMATS, type RawFormat } from "../peers/raw-records.ts";
import { publish } from "../peers/topic.ts";
import { inTurn } from "../rounds.ts";
import { openDatabase } from "../world.ts";

/**
 * Some ten seconds of work: in the first few, V8 still compiles the intake, and with less a few inserts would decide.
 */
const MAX_OBSERVATIONS = 400_000;
const LEAST_OBSERVATIONS = 2_000;
/** Raw records take the intake twice as long as observations: as many as fill the same time. */
const SHARE_OF_RAW = 1 / 2;
const SHARE_OF_SIZE = 1 / 30;
const LONGEST_MS = 120_000;
/** Each look takes the server some milliseconds, which it does not insert in. */
const POLL_MS = 100;
const TAGS = Array.from({ length: 20 }, (_, index) => makeTag(`tag-${index}`, "malicious"));

export const ingest: Part = {
  name: "ingest",
  what: "from Kafka to queryable by one process, against curl and against ClickHouse's own Kafka engine",
  usesWorld: false,
  async measure(run) {
    const count = Math.min(MAX_OBSERVATIONS, Math.max(LEAST_OBSERVATIONS, Math.round(run.size * SHARE_OF_SIZE)));
    const folder = await mkdtemp(join(tmpdir(), "noisefloor-bench-"));
    const database = await openDatabase(run.clickhouse);
    try {
      const file = join(folder, "events.ndjson");
      const now = Date.now();
      const events = () => makeEvents(run.seed, count, TAGS, now);
      await writeNdjson(file, events());
      const loads: Load[] = [];
      for (const perMessage of run.pace.perMessage) {
        const kafka = await publish(await run.broker(), messagesOf(events(), perMessage));
        loads.push({ kafka, file, count, perMessage });
      }
      const missing: string[] = [];
      const questions = loads.map((load) => [nameOf(load), () => measureSides(run, database, load, missing)] as const);
      const most = loads.at(-1);
      const raw = async () => (most === undefined ? [] : measureRaw(run, database, most, now));
      const measured = await measureEach({ ...Object.fromEntries(questions), [RAW]: raw }, run.say);
      const notes = missing.slice(0, 1).map((reason) => `ClickHouse's Kafka engine is missing: ${reason}`);
      return { ...measured, notes: [`${count} observations a round, of raw records half as many.`, ...notes] };
    } finally {
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

type Load = {
  readonly kafka: KafkaSettings;
  readonly file: string;
  readonly count: number;
  readonly perMessage: number;
};

function nameOf({ perMessage }: Load): string {
  return `Kafka to queryable, ${perMessage} a message`;
}

/** @param missing gets the reason when the server cannot read topics by itself, and then it is not asked again. */
async function measureSides(run: Run, database: Database, load: Load, missing: string[]): Promise<Line[]> {
  const engine = async () => {
    if (missing.length > 0) return Number.NaN;
    return throughEngine(await emptied(database), load).catch((error: unknown) => {
      missing.push(String(error));
      return Number.NaN;
    });
  };
  const sides = {
    ours: async () => throughService(await emptied(database), load),
    curl: async () => throughCurl(await emptied(database), load),
    // By default, the server searches each insert for repeated rows; the intake tells it not to.
    curlWithoutSearch: async () => throughCurl(await emptied(database), load, { optimize_on_insert: "0" }),
    engine,
  };
  const times = await inTurn(sides, run.pace);
  const named = { name: nameOf(load), unit: "per second" } as const;
  return [
    against({ ...named, peer: "curl of the same NDJSON", target: 0.6 }, times.ours, times.curl),
    against({ ...named, peer: "curl with optimize_on_insert=0" }, times.ours, times.curlWithoutSearch),
    ...(missing.length > 0 ? [] : [against({ ...named, peer: "ClickHouse's Kafka engine" }, times.ours, times.engine)]),
  ];
}

const RAW = "Raw records to queryable";

/** What decoding, sessions, networks and tagging rules cost, for each format: every record is a session of its own. */
async function measureRaw(run: Run, database: Database, load: Load, now: number): Promise<Line[]> {
  const { perMessage } = load;
  const count = Math.ceil(load.count * SHARE_OF_RAW);
  const through = async ({ name, header, records }: RawFormat) => {
    const messages = messagesOf(records(run.seed, count, now), perMessage, header);
    const kafka = await publish(await run.broker(), messages);
    const rawTopics = { KAFKA_TOPIC: `${kafka.topic}-empty`, KAFKA_RAW_TOPICS: `${kafka.topic}=${name}` };
    return async () => throughService(await emptied(database), { ...load, kafka, count }, rawTopics);
  };
  const lines: Line[] = [];
  for (const format of RAW_FORMATS) {
    const plain = async () => throughService(await emptied(database), load);
    const times = await inTurn({ raw: await through(format), plain }, run.pace);
    const named = { name: `${RAW}, ${format.name}, ${perMessage} a message`, unit: "per second" } as const;
    const peer = "observations with their tags and networks";
    lines.push(against({ ...named, peer }, times.raw, times.plain));
  }
  return lines;
}

type Database = Awaited<ReturnType<typeof openDatabase>>;

/** Each measurement begins with empty tables. */
async function emptied(database: Database): Promise<Database> {
  const { connection, client } = database;
  await client.command({
    query: "TRUNCATE ALL TABLES FROM {name:Identifier} NOT LIKE 'schema_migrations'",
    query_params: { name: connection.database },
  });
  await tagRecords.write(client, TAGS, Date.now());
  return database;
}

async function throughService(
  { connection, client }: Database,
  { kafka, count }: Load,
  settings: Readonly<Record<string, string>> = {},
): Promise<number> {
  const commandLine = await openCommandLine();
  try {
    const env = { ...environmentOf(connection, kafka), KAFKA_GROUP_ID: randomUUID(), LOG_LEVEL: "warn", ...settings };
    const begin = performance.now();
    const process = await startIngest(commandLine, env);
    const perSecond = await rateOf(client, count, process.unexpectedExit, begin);
    await process.terminate();
    return perSecond;
  } finally {
    await commandLine.close();
  }
}

async function throughEngine({ client }: Database, { kafka, count }: Load): Promise<number> {
  const begin = performance.now();
  const stop = await startKafkaEngine(client, kafka);
  try {
    return await rateOf(client, count, () => undefined, begin);
  } finally {
    await stop();
  }
}

async function throughCurl(
  { connection, client }: Database,
  { file, count }: Load,
  settings: Readonly<Record<string, string>> = {},
): Promise<number> {
  const url = new URL(connection.url);
  url.search = new URLSearchParams({
    database: connection.database,
    query: "INSERT INTO observations FORMAT JSONEachRow",
    date_time_input_format: "best_effort",
    ...settings,
  }).toString();
  const start = performance.now();
  await promisify(execFile)("curl", [
    ...["--silent", "--show-error", "--fail", "--data-binary", `@${file}`],
    ...[
      "--header",
      `X-ClickHouse-User: ${connection.username}`,
      "--header",
      `X-ClickHouse-Key: ${connection.password}`,
    ],
    url.href,
  ]);
  const seconds = (performance.now() - start) / 1_000;
  const { rows } = await runForOne(client, stored, {});
  if (rows !== count) throw new Error(`curl stored ${rows} of ${count} observations`);
  return count / seconds;
}

const stored = defineQuery({
  name: "bench-stored",
  sql: "SELECT uniqExact(observation_id) AS rows FROM observations",
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});
const inserted = defineQuery({
  name: "bench-inserted",
  sql: "SELECT count() AS rows FROM observations",
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

/**
 * Observations per second from the first that can be queried to the last, so that no start counts. Where the first look
 * already finds half of them, from the consumer's start.
 * @param begin when the consumer was started: it may store much before this is called.
 */
async function rateOf(
  client: ClickHouseClient,
  count: number,
  failure: () => string | undefined,
  begin: number,
): Promise<number> {
  let first = { rows: 0, at: begin };
  for (;;) {
    const { rows } = await runForOne(client, inserted, {});
    const at = performance.now();
    if (first.rows === 0 && rows > 0 && rows < count / 2) first = { rows, at };
    if (rows >= count && (await runForOne(client, stored, {})).rows === count) {
      return ((count - first.rows) / (at - first.at)) * 1_000;
    }
    const reason = failure() ?? (at - begin > LONGEST_MS ? `${rows} of ${count} observations after 120 s` : undefined);
    if (reason !== undefined) throw new Error(reason);
    await sleep(POLL_MS);
  }
}
