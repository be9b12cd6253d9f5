import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { writeTags } from "@noisefloor/clickhouse/tables/tags.ts";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { z } from "zod";
import { openCommandLine } from "../../support/worlds/command-line.ts";
import { environmentOf, startIngest } from "../../support/worlds/ingest-process.ts";
import { makeTag } from "../../support/worlds/world.ts";
import { against, type Line } from "../line.ts";
import type { Part, Run } from "../part.ts";
import { makeEvents, messagesOf, writeNdjson } from "../peers/events.ts";
import { hasKafkaEngine, startKafkaEngine } from "../peers/kafka-engine.ts";
import { publish } from "../peers/topic.ts";
import { inTurn } from "../rounds.ts";
import { openDatabase } from "../world.ts";

const MOST_OBSERVATIONS = 400_000;
const LEAST_OBSERVATIONS = 2_000;
const SHARE_OF_SIZE = 1 / 100;
const IN_A_MESSAGE = [1, 1_000] as const;
const LONGEST_MS = 120_000;
const TAGS = Array.from({ length: 20 }, (_, index) => makeTag(`tag-${index}`, "malicious"));

export const ingest: Part = {
  name: "ingest",
  what: "from Kafka to queryable by one process, against curl and against ClickHouse's own Kafka engine",
  usesWorld: false,
  async measure(run) {
    const count = Math.min(MOST_OBSERVATIONS, Math.max(LEAST_OBSERVATIONS, Math.round(run.size * SHARE_OF_SIZE)));
    const folder = await mkdtemp(join(tmpdir(), "noisefloor-bench-"));
    try {
      const file = join(folder, "events.ndjson");
      const now = Date.now();
      const events = () => makeEvents(run.seed, count, TAGS, now);
      await writeNdjson(file, events());
      const loads: Load[] = [];
      for (const perMessage of IN_A_MESSAGE) {
        const kafka = await publish(await run.broker(), messagesOf(events(), perMessage));
        loads.push({ kafka, file, count, perMessage });
      }
      const missing = await whyNoEngine(run, loads);
      const lines: Line[] = [];
      for (const load of loads) lines.push(...(await measureSides(run, load, missing === undefined)));
      const notes = [`${count} observations a round.`];
      if (missing !== undefined) notes.push(`The line for ClickHouse's Kafka engine is missing: ${missing}`);
      return { lines, notes };
    } finally {
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

async function measureSides(run: Run, load: Load, hasEngine: boolean): Promise<Line[]> {
  const name = `Kafka to queryable, ${load.perMessage} a message`;
  run.say(name);
  const sides = {
    ours: () => inDatabase(run, (database) => throughService(database, load)),
    curl: () => inDatabase(run, (database) => throughCurl(database, load)),
    ...(hasEngine && { engine: () => inDatabase(run, (database) => throughEngine(database, load)) }),
  };
  const { ours = [], curl = [], engine } = await inTurn<string, number>(sides, run.pace);
  const unit = "per second";
  return [
    against({ name, unit, peer: "curl of the same NDJSON", target: 0.6 }, ours, curl),
    ...(engine === undefined ? [] : [against({ name, unit, peer: "ClickHouse's Kafka engine" }, ours, engine)]),
  ];
}

/** @returns why the server cannot read a topic by itself; undefined when it can. */
async function whyNoEngine(run: Run, [load]: readonly Load[]): Promise<string | undefined> {
  return inDatabase(run, async (database) => {
    if (load === undefined || !(await hasKafkaEngine(database.client))) return "this server was built without it";
    return throughEngine(database, load).then(
      () => undefined,
      (error: unknown) => String(error),
    );
  });
}

type Database = Awaited<ReturnType<typeof openDatabase>>;

/** Each measurement begins with empty tables. */
async function inDatabase<T>({ clickhouse }: Run, measure: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(clickhouse);
  try {
    await writeTags(database.client, TAGS, Date.now());
    return await measure(database);
  } finally {
    await database.drop();
  }
}

async function throughService({ connection, client }: Database, { kafka, count }: Load): Promise<number> {
  const commandLine = await openCommandLine();
  try {
    const env = { ...environmentOf(connection, kafka), KAFKA_GROUP_ID: connection.database, LOG_LEVEL: "warn" };
    const process = await startIngest(commandLine, env);
    const perSecond = await rateOf(client, count, process.surprise);
    await process.terminate();
    return perSecond;
  } finally {
    await commandLine.close();
  }
}

async function throughEngine({ client }: Database, { kafka, count }: Load): Promise<number> {
  const stop = await startKafkaEngine(client, kafka);
  try {
    return await rateOf(client, count, () => undefined);
  } finally {
    await stop();
  }
}

async function throughCurl({ connection, client }: Database, { file, count }: Load): Promise<number> {
  const query = new URLSearchParams({
    database: connection.database,
    query: "INSERT INTO observations FORMAT JSONEachRow",
    date_time_input_format: "best_effort",
  });
  const start = performance.now();
  await promisify(execFile)("curl", [
    ...["--silent", "--show-error", "--fail", "--data-binary", `@${file}`],
    ...[
      "--header",
      `X-ClickHouse-User: ${connection.username}`,
      "--header",
      `X-ClickHouse-Key: ${connection.password}`,
    ],
    `${connection.url}/?${query}`,
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
 * Observations per second from the first that can be queried to the last, so that no start counts; from now on where
 * the first insert has too many of them.
 */
async function rateOf(client: ClickHouseClient, count: number, failure: () => string | undefined): Promise<number> {
  const begin = performance.now();
  let first = { rows: 0, at: begin };
  for (;;) {
    const { rows } = await runForOne(client, inserted, {});
    const at = performance.now();
    if (first.rows === 0 && rows < count / 4) first = { rows, at };
    if (rows >= count && (await runForOne(client, stored, {})).rows === count) {
      return ((count - first.rows) / (at - first.at)) * 1_000;
    }
    const reason = failure() ?? (at - begin > LONGEST_MS ? `${rows} of ${count} observations after 120 s` : undefined);
    if (reason !== undefined) throw new Error(reason);
    await sleep(20);
  }
}
