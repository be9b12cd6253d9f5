import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { JavaServerError } from "../../support/servers/java/java-server.ts";
import { against, type Line, spreadOf, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Pace, Part, Run } from "../part.ts";
import { type DuckDbSearch, openDuckDbSearch } from "../peers/duckdb-search.ts";
import { type Lucene, openLucene } from "../peers/lucene.ts";
import { writeSearchRows } from "../peers/search-rows.ts";
import { inTurn, timeOf, timesOf } from "../rounds.ts";
import { type FoundAddresses, type SearchQuestion, searchQuestions, seenSince } from "../search-questions.ts";
import type { World } from "../world.ts";

const ROWS = 25;
const DAY = 24 * 60 * 60 * 1_000;
const LIMIT_MS = 6;
const LIMIT_P99_MS = 25;
/** At most five times Lucene's time. Faster answers than the next one feel alike to users. */
const TIMES_LUCENE = 0.2;
const UNFELT_MS = 3;
const STATS_LIMIT_MS = 40;
const BYTES_PER_MEMBER = 8;
const LISTED_PER_SECOND = 150_000;
const NOTES = [
  `Count and the first ${ROWS} rows, ours in the short form and as a caller waits for them; Lucene's time is that inside its JVM, for its own count and the first rows in the order of the addresses, which is that of its documents.`,
  "Lucene's index and DuckDB's tables are built once and are stale from then on: they have one row or document an address. Ours shows an observation seconds after it was stored, and is exact for late, repeated and removed ones.",
];

export const search: Part = {
  name: "search",
  what: "searches, against Apache Lucene and DuckDB over one document an address",
  usesWorld: true,
  async measure(run) {
    const world = await run.world();
    const folder = await mkdtemp(join(tmpdir(), "noisefloor-search-"));
    let peers: Peers | undefined;
    try {
      const rows = join(folder, "rows.tsv");
      run.say("the peers load what is known of each address");
      await writeSearchRows(world, rows);
      const duckDb = await openDuckDbSearch(rows, ROWS);
      peers = { duckDb, lucene: undefined };
      const missing: string[] = [];
      const lucene = await openLucene(rows).catch((error: unknown) => {
        if (!(error instanceof JavaServerError)) throw error;
        missing.push(`Lucene is missing: ${error.message}`);
        return undefined;
      });
      peers = { duckDb, lucene };
      const measured = await measureEach(questionsOf(run, world, peers), run.say);
      return { ...measured, notes: [...NOTES, ...missing] };
    } finally {
      await peers?.duckDb.close();
      await peers?.lucene?.close();
      await rm(folder, { recursive: true });
    }
  },
};

type Peers = { readonly duckDb: DuckDbSearch; readonly lucene: Lucene | undefined };

function questionsOf(run: Run, world: World, peers: Peers): Record<string, () => Promise<Line[]>> {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const [oldest, since] = [today - 88 * DAY, today - 7 * DAY];
  const found = searchQuestions({ oldest, since }).map(
    (question) => [question.name, () => measureQuestion(run, world, peers, question)] as const,
  );
  return {
    ...Object.fromEntries(found),
    statistics: () => measureStats(run, world, `country_code:CN ${seenSince(oldest)}`),
    memory: () => measureMemory(world),
    list: () => measureList(run, world, seenSince(oldest)),
  };
}

const pageSchema = z.object({
  request_metadata: z.object({ count: z.int() }),
  data: z.array(z.object({ ip: z.string() })),
});
const countSchema = z.object({ count: z.int() });

const pathOf = (path: string, parameters: Readonly<Record<string, string>>) =>
  `/v3/gnql${path}?${new URLSearchParams(parameters)}`;

async function measureQuestion(
  run: Run,
  world: World,
  { duckDb, lucene }: Peers,
  asked: SearchQuestion,
): Promise<Line[]> {
  const { name, query } = asked;
  const path = pathOf("", { query, size: String(ROWS), quick: "true" });
  await world.service.untilInMemory(path);
  const { request_metadata, data } = pageSchema.parse(JSON.parse(await world.service.get(path)));
  const ours: FoundAddresses = { count: request_metadata.count, first: data.map(({ ip }) => ip) };
  const theirs = [await duckDb.ask(asked.duckDb), (await lucene?.ask(asked.lucene))?.found ?? ours];
  const fault = theirs.every((one) => isDeepStrictEqual(one, ours)) ? undefined : "answers differ";
  const times = await inTurn(
    {
      ours: () => timeOf(() => world.service.get(path), run.pace),
      duckDb: () => timeOf(() => duckDb.ask(asked.duckDb), run.pace),
      lucene: () => (lucene === undefined ? Promise.resolve(Number.NaN) : luceneTime(lucene, asked.lucene, run.pace)),
    },
    run.pace,
  );
  const named = { name: `${name}: ${ours.count} found`, unit: "ms", fault } as const;
  const isCompared = lucene !== undefined;
  const target = spreadOf(times.ours).median <= UNFELT_MS ? {} : { target: TIMES_LUCENE };
  const p99 = await inTurn({ ours: () => p99Of(() => world.service.get(path), run.pace) }, run.pace);
  return [
    ...(isCompared ? [against({ ...named, ...target, peer: "Apache Lucene" }, times.ours, times.lucene)] : []),
    against({ ...named, peer: "DuckDB", target: 1 }, times.ours, times.duckDb),
    within(named.name, times.ours, LIMIT_MS, fault),
    within(`${name}: the slowest of a hundred`, p99.ours, LIMIT_P99_MS),
  ];
}

/** The median of the times inside the JVM, over as long as any question is asked again. */
async function luceneTime(lucene: Lucene, query: string, { repeatMs }: Pace): Promise<number> {
  const times: number[] = [];
  for (const begin = performance.now(); times.length === 0 || performance.now() - begin < repeatMs; ) {
    times.push((await lucene.ask(query)).ms);
  }
  return spreadOf(times).median;
}

async function measureStats(run: Run, world: World, query: string): Promise<Line[]> {
  const { count } = countSchema.parse(JSON.parse(await world.service.get(pathOf("/count", { query }))));
  const path = pathOf("/stats", { query });
  await world.service.untilInMemory(path);
  const { ours } = await inTurn({ ours: () => timeOf(() => world.service.get(path), run.pace) }, run.pace);
  return [within(`statistics of ${count} addresses`, ours, STATS_LIMIT_MS)];
}

const p99Of = async (ask: () => Promise<unknown>, pace: Pace) => {
  const times = await timesOf(ask, pace);
  return times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;
};

/** What the questions before have loaded. */
async function measureMemory(world: World): Promise<Line[]> {
  const metrics = await world.service.get("/metrics");
  const readMetric = (name: string) => Number(new RegExp(`^${name} (.+)$`, "m").exec(metrics)?.[1]);
  const [bytes, members] = [readMetric("noisefloor_search_index_bytes"), readMetric("noisefloor_search_index_members")];
  const named = { name: `memory of ${members} members`, peer: "bytes a member", unit: "bytes", target: 1 } as const;
  return [against(named, [bytes], [members * BYTES_PER_MEMBER])];
}

async function measureList(run: Run, world: World, query: string): Promise<Line[]> {
  const { count } = countSchema.parse(JSON.parse(await world.service.get(pathOf("/count", { query }))));
  const path = pathOf("/ips", { query });
  const { ours } = await inTurn({ ours: () => timeOf(() => world.service.drain(path), run.pace) }, run.pace);
  return [within(`/ips of ${count} addresses`, ours, Math.ceil((count / LISTED_PER_SECOND) * 1_000))];
}
