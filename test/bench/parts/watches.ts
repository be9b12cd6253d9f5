import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { eventSchema } from "@noisefloor/domain/watches/event.ts";
import getPort from "get-port";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { addCaller } from "../../support/worlds/callers.ts";
import { openCommandLine } from "../../support/worlds/command-line.ts";
import { environmentOf, startIngest } from "../../support/worlds/ingest-process.ts";
import { fillHistory } from "../history.ts";
import { against, type Line, type Series, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { messagesOf } from "../peers/events.ts";
import { openTopic, publish } from "../peers/topic.ts";
import { processorTime, residentBytes } from "../processes.ts";
import { type QueryService, startQueryService } from "../query-service.ts";
import { inTurn } from "../rounds.ts";
import { makeWatched, TAGS, watchedLoad, writeWatched } from "../watched.ts";
import { openDatabase } from "../world.ts";

/** From this size on there are all watches. */
const FULL_SIZE = 3_000_000;
const MAX_STORED = 1_000_000;
const HISTORY_HOURS = 7 * 24 - 4;
const MAX_OBSERVATIONS = 400_000;
const LEAST_OBSERVATIONS = 2_000;
const SHARE_OF_SIZE = 1 / 30;
const PER_SECOND = 20_000;
const PER_MESSAGE = 1_000;
const SEND_MS = 250;
/** Seconds at that load, by the seconds of a load. */
const LOADS = 8;
const PROBES_A_LOAD = 4;
const IDLE_PROBES = 10;
const POLL_MS = 100;
const LONGEST_MS = 180_000;
const WORKSPACE = "bench";

export const watches: Part = {
  name: "watches",
  what: "100,000 watched networks and 1,000 searches beside a live intake, and how soon an event is delivered",
  usesWorld: false,
  async measure(run) {
    const stage = await openStage(run);
    try {
      const questions = {
        "delays of events": () => measureDelays(run, stage),
        "throughput beside watches": () => measureThroughput(run, stage),
      };
      const measured = await measureEach(questions, run.say);
      const mebibytes = Math.round((await residentBytes(stage.service.pid)) / 2 ** 20);
      const { networks, searches } = stage.watched;
      return {
        ...measured,
        notes: [
          `${networks.length} watches of 1,000 networks each, ${searches.length} of searches that know 100,000 addresses each;` +
            ` the query process has ${mebibytes} MiB.`,
          `At ${PER_SECOND} observations a second, one in a thousand of an address that is new.`,
        ],
      };
    } finally {
      await stage.close();
    }
  },
};

type Stage = Awaited<ReturnType<typeof openStage>>;

/** A store with a past, watches, a query process that looks after them, and what receives their events. */
async function openStage(run: Run) {
  const { connection, client, drop } = await openDatabase(run.clickhouse);
  const receiver = await startReceiver();
  let service: QueryService | undefined;
  const close = async () => {
    await service?.close();
    receiver.close();
    await drop();
  };
  try {
    await tagRecords.write(client, TAGS, Date.now());
    const stored = Math.min(MAX_STORED, run.size);
    const perHour = stored / HISTORY_HOURS / 2;
    await fillHistory(client, {
      seed: run.seed,
      tagIds: TAGS.map(({ id }) => id),
      end: Date.now(),
      days: 7,
      heavyPerHour: Math.ceil(perHour),
      ordinaryPerHour: Math.ceil(perHour / TAGS.length),
      heavyAddresses: { active: Math.ceil(stored / 4), later: Math.ceil(stored / 8) },
    });
    const key = await addCaller(client, WORKSPACE, "unlimited");
    const watched = makeWatched(Math.min(1, run.size / FULL_SIZE), WORKSPACE, receiver.url);
    await writeWatched(client, watched);
    service = await startQueryService(connection, key, { WATCH_DESTINATIONS: "127.0.0.1" });
    return { connection, client, service, receiver, watched, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Notes when an event of a watch about an address arrived first, in milliseconds of `performance.now()`. */
async function startReceiver() {
  const arrived = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const event = eventSchema.parse(JSON.parse(await text(request)));
    response.writeHead(204).end();
    if (event.type !== "network_seen" && event.type !== "search_matches") return;
    for (const { ip } of event.data.addresses) {
      const name = `${event.watch.id} ${ip}`;
      if (!arrived.has(name)) arrived.set(name, performance.now());
    }
  });
  const port = await getPort({ host: "127.0.0.1" });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${port}/hook`, arrived, close: () => server.close() };
}

/** From when an observation is stored, as the intake answers 202 then: how far a consumer of Kafka is behind is its own. */
async function measureDelays({ broker, pace, say }: Run, stage: Stage): Promise<Line[]> {
  const { connection, client, receiver, watched } = stage;
  const topic = await openTopic(await broker());
  const commandLine = await openCommandLine();
  try {
    const env = { ...environmentOf(connection, topic.kafka), LOG_LEVEL: "warn" };
    const ingest = await startIngest(commandLine, env);
    let number = 0;
    /** @returns the milliseconds until the event arrived. */
    const probe = async () => {
      const { watchId, ip, observation } = watched.probe(number++);
      await client.insert({
        table: "observations",
        values: [{ ...observation, dataset: "global" }],
        format: "JSONEachRow",
        clickhouse_settings: { date_time_input_format: "best_effort" },
      });
      const start = performance.now();
      return async () => {
        const at = await eventually(async () => {
          const arrived = receiver.arrived.get(`${watchId} ${ip}`);
          if (arrived === undefined) throw new Error(ingest.unexpectedExit() ?? `no event of ${ip} arrived`);
          return arrived;
        }, LONGEST_MS);
        return at - start;
      };
    };
    const first = performance.now();
    for (const arrives of [await probe(), await probe()]) await arrives();
    say(`the first events after ${Math.round(performance.now() - first)} ms`);
    const idle: number[] = [];
    for (let each = 0; each < IDLE_PROBES; each++) idle.push(await (await probe())());

    const waiting: (() => Promise<number>)[] = [];
    const load = watchedLoad(0, Number.MAX_SAFE_INTEGER);
    const seconds = LOADS * pace.loadSeconds;
    const { rows: before } = await runForOne(client, stored, {});
    const start = performance.now();
    let sent = 0;
    for (let probes = 0; performance.now() - start < seconds * 1_000; ) {
      const due = ((performance.now() - start) / 1_000) * PER_SECOND;
      await topic.send(messagesOf(next(load, Math.floor(due) - sent), PER_MESSAGE));
      sent = Math.floor(due);
      const isDue = performance.now() - start >= (probes * pace.loadSeconds * 1_000) / PROBES_A_LOAD;
      if (isDue) {
        waiting.push(await probe());
        probes++;
      }
      await sleep(SEND_MS);
    }
    const { rows } = await runForOne(client, stored, {});
    say(`${Math.round(sent / seconds)} observations a second sent, ${Math.round((rows - before) / seconds)} stored`);
    const loaded = await Promise.all(waiting.map((arrives) => arrives()));
    await ingest.terminate();
    const name = (state: string) => `from stored to the webhook ${state}, p99`;
    return [
      within(name(`at ${PER_SECOND} observations a second`), [p99(loaded)], 60_000),
      within(name("when idle"), [p99(idle)], 10_000),
    ];
  } finally {
    await topic.close();
    await commandLine.close();
  }
}

function* next<T>(values: Iterator<T>, count: number): Generator<T> {
  for (let left = count; left > 0; left--) yield values.next().value;
}

function p99(values: Series): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
}

async function measureThroughput(run: Run, stage: Stage): Promise<Line[]> {
  const count = Math.min(MAX_OBSERVATIONS, Math.max(LEAST_OBSERVATIONS, Math.round(run.size * SHARE_OF_SIZE)));
  let round = 1;
  const side = (isEnabled: boolean) => async () => {
    await enable(stage, isEnabled);
    return storeAll(run, stage, watchedLoad(round++, count), count);
  };
  const { watched, plain } = await inTurn({ watched: side(true), plain: side(false) }, run.pace);
  const perSecond = (rounds: typeof watched) => rounds.map((each) => each.perSecond);
  const processor = watched.map(({ processorMs }, index) => processorMs - (plain[index]?.processorMs ?? 0));
  return [
    against(
      { name: "Kafka to queryable", unit: "per second", peer: "without watches", target: 0.85 },
      perSecond(watched),
      perSecond(plain),
    ),
    within(
      "processor time a second of watches",
      processor.map((ms) => Math.max(ms, 1)),
      1_000,
    ),
  ];
}

async function enable({ client, service, watched: { networks, searches } }: Stage, isEnabled: boolean): Promise<void> {
  const all = [...networks, ...searches].map((watch) => ({ ...watch, isEnabled }));
  await watchDefinitions.write(client, all, Date.now());
  await eventually(async () => {
    const metrics = await service.get("/metrics");
    if (!metrics.includes(`noisefloor_watches_leader ${Number(isEnabled)}`))
      throw new Error("the watches are as before");
  }, LONGEST_MS);
}

const stored = defineQuery({
  name: "bench-stored-observations",
  sql: "SELECT count() AS rows FROM observations",
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

/** Stores observations of Kafka. @returns how many a second, from the first, and the query process's time each second. */
async function storeAll(
  { broker }: Run,
  { connection, client, service }: Stage,
  events: Iterable<object>,
  count: number,
): Promise<{ readonly perSecond: number; readonly processorMs: number }> {
  const { rows: before } = await runForOne(client, stored, {});
  const kafka = await publish(await broker(), messagesOf(events, PER_MESSAGE));
  const commandLine = await openCommandLine();
  try {
    const ingest = await startIngest(commandLine, { ...environmentOf(connection, kafka), LOG_LEVEL: "warn" });
    let first = { rows: 0, at: performance.now(), processor: await processorTime([service.pid]) };
    for (const begin = performance.now(); ; await sleep(POLL_MS)) {
      const rows = (await runForOne(client, stored, {})).rows - before;
      const now = { rows, at: performance.now(), processor: await processorTime([service.pid]) };
      if (first.rows === 0 && rows > 0 && rows < count / 2) first = now;
      const isLate = now.at - begin > LONGEST_MS;
      if (rows < count && !isLate && ingest.unexpectedExit() === undefined) continue;
      if (rows < count) throw new Error(ingest.unexpectedExit() ?? `${rows} of ${count} observations in time`);
      await ingest.terminate();
      const seconds = (now.at - first.at) / 1_000;
      return { perSecond: (count - first.rows) / seconds, processorMs: (now.processor - first.processor) / seconds };
    }
  } finally {
    await commandLine.close();
  }
}
