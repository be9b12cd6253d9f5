import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { against, type Line, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { startStaticFile } from "../peers/start-static-file.ts";
import { processorTime, residentBytes } from "../processes.ts";
import { inTurn, timeOf } from "../rounds.ts";
import type { World } from "../world.ts";

const NAME = "all";
/** Within the reach of every plan. */
const QUERY = "last_seen:30d";
const MAX_ADDRESSES = 1_000_000;
const CHANGES = 100;
const CONSUMERS = 1_000;
const POLL_MS = 60_000;
/** Processor time of the query process for all of them, in milliseconds each second: a twentieth of a core. */
const POLLS_LIMIT_MS = 50;
/** Seconds of polls and fetches of the whole list, by the seconds of a load. */
const POLLED_LOADS = 15;
const FETCHED_LOADS = 25;

/** `PUT /v3/feeds/{name}`, which refreshes a feed, and what its consumers ask for. */
export const feeds: Part = {
  name: "feeds",
  what: "refreshing a feed of up to a million addresses against counting them, and what its consumers ask for",
  usesWorld: false,
  async measure(run) {
    const world = await run.world("worm");
    const feed = openFeed(world);
    const questions = {
      "a refresh": () => measureRefresh(run, world, feed),
      "what consumers ask for": () => measureAnswers(run, feed),
      "a thousand consumers": () => measurePolls(run, world, feed),
      "memory of whole lists": () => measureMemory(run, world, feed),
    };
    return {
      ...(await measureEach(questions, run.say)),
      notes: ["Processor time and memory are those of the query process, read from /proc, so on Linux alone."],
    };
  },
};

const feedSchema = z.object({ count: z.int(), cursor: z.string() });

type BenchFeed = ReturnType<typeof openFeed>;

function openFeed(world: World) {
  const url = `http://127.0.0.1:${world.service.port}`;
  const headers = { key: world.key, "accept-encoding": "identity" };
  let edition = 0;
  return {
    /** A new definition is refreshed before the answer. */
    async refresh(limit = MAX_ADDRESSES) {
      const body = JSON.stringify({ query: QUERY, limit, description: `edition ${edition++}` });
      const answer = await fetch(`${url}/v3/feeds/${NAME}`, { method: "PUT", headers, body });
      if (!answer.ok) throw new Error(`the refresh answered ${answer.status}: ${await answer.text()}`);
      return feedSchema.parse(await answer.json());
    },
    async list(parameters = "", more: Record<string, string> = {}) {
      const answer = await fetch(`${url}/v3/feeds/${NAME}.txt${parameters}`, { headers: { ...headers, ...more } });
      return { status: answer.status, etag: answer.headers.get("etag") ?? "", text: await answer.text() };
    },
  };
}

async function measureRefresh({ pace }: Run, { service }: World, feed: BenchFeed): Promise<Line[]> {
  const { count } = await feed.refresh();
  const times = await inTurn(
    {
      refresh: () => timeOf(() => feed.refresh(), pace),
      search: () => timeOf(() => service.get(`/v3/gnql/count?query=${encodeURIComponent(QUERY)}`), pace),
    },
    pace,
  );
  const name = `refresh of ${count} addresses`;
  return [
    against({ name, unit: "ms", peer: "counting them", target: 1 / 1.5 }, times.refresh, times.search),
    within(name, times.refresh, 3_000),
  ];
}

async function measureAnswers({ pace }: Run, feed: BenchFeed): Promise<Line[]> {
  const before = await feed.refresh();
  // A lower limit leaves out those seen first.
  const { count } = await feed.refresh(Math.max(1, before.count - CHANGES));
  const { etag, text } = await feed.list();
  const since = () => feed.list(`?since=${before.cursor}`);
  const unchanged = () => feed.list("", { "if-none-match": etag });
  const faultOf = (what: string, found: number, wanted: number) =>
    found === wanted ? undefined : `${what}: ${found} and not ${wanted}`;
  const faults = {
    whole: faultOf("lines", text.split("\n").length - 1, count),
    since: faultOf("changes", (await since()).text.split("\n").length - 1, before.count - count),
    unchanged: faultOf("status", (await unchanged()).status, 304),
  };
  const file = await startStaticFile(text);
  try {
    const times = await inTurn(
      {
        whole: () => timeOf(() => feed.list(), pace),
        file: () => timeOf(async () => (await fetch(file.url)).text(), pace),
        since: () => timeOf(since, pace),
        unchanged: () => timeOf(unchanged, pace),
      },
      pace,
    );
    const txt = { name: `${count} addresses as txt`, unit: "ms", target: 0.7, fault: faults.whole } as const;
    return [
      against({ ...txt, peer: "@fastify/static, the same bytes" }, times.whole, times.file),
      within(`${CHANGES} changes since a cursor`, times.since, 20, faults.since),
      within("an unchanged list, 304", times.unchanged, 2, faults.unchanged),
    ];
  } finally {
    await file.close();
  }
}

async function measurePolls({ pace }: Run, { service }: World, feed: BenchFeed): Promise<Line[]> {
  await feed.refresh();
  const { etag } = await feed.list();
  const seconds = POLLED_LOADS * pace.loadSeconds;
  const polls = Math.max(1, Math.round((seconds * 1_000 * CONSUMERS) / POLL_MS));
  const statuses = new Set<number>();
  const before = await processorTime([service.pid]);
  const begin = performance.now();
  const running: Promise<void>[] = [];
  for (let poll = 0; poll < polls; poll++) {
    await sleep(Math.max(0, begin + (poll * POLL_MS) / CONSUMERS - performance.now()));
    const answer = feed.list("", { "if-none-match": etag });
    running.push(answer.then(({ status }) => void statuses.add(status)));
  }
  await Promise.all(running);
  const used = (await processorTime([service.pid])) - before;
  const measured = used / ((performance.now() - begin) / 1_000);
  const fault = [...statuses].every((status) => status === 304) ? undefined : `statuses ${[...statuses].join(", ")}`;
  return [
    within(
      `a second of ${CONSUMERS} consumers that poll each minute, processor time`,
      [measured],
      POLLS_LIMIT_MS,
      fault,
    ),
  ];
}

async function measureMemory({ pace }: Run, { service }: World, feed: BenchFeed): Promise<Line[]> {
  const { count } = await feed.refresh();
  const fetches = Math.max(1, Math.round(FETCHED_LOADS * pace.loadSeconds));
  // The first answers compile code.
  for (let fetched = 0; fetched < Math.min(10, fetches); fetched++) await feed.list();
  const before = await residentBytes(service.pid);
  for (let fetched = 0; fetched < fetches; fetched++) await feed.list();
  const after = await residentBytes(service.pid);
  const name = `memory after ${fetches} fetches of ${count} addresses`;
  return [against({ name, unit: "bytes", peer: "before them", target: 0.8 }, [after], [before])];
}
