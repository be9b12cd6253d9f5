import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { Marked } from "../../support/builders/marked-observations.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { randomQuery } from "../../support/builders/search-query.ts";
import { matchingBySpan } from "../../support/oracle/search-oracle.ts";
import {
  CONDITIONS,
  DATASETS,
  DAY,
  HOUR,
  knownIn,
  NOW,
  numberOf,
  openSearchWorld,
  parse,
  SEEN,
  type SearchWorld,
  TAGS,
  wordsOf,
} from "../../support/query/search-world.ts";
import { atVolume } from "../../support/volume.ts";

const QUERIES = atVolume(5, 100);

let searched: SearchWorld;
beforeAll(async () => {
  searched = await openSearchWorld();
});
afterAll(() => searched.world.close());

const timeseriesSchema = z.record(
  z.string(),
  z.array(
    z.object({
      ip: z.string(),
      internet_scanner_intelligence: z.object({
        tags: z.array(z.string()),
        metadata: z.object({ sensor_hits: z.int() }),
      }),
    }),
  ),
);

const timeseriesStatsSchema = z.object({
  count: z.int(),
  min: z.int(),
  max: z.int(),
  data: z.array(z.object({ date: z.string(), count: z.int() })),
});

/** What matches in each hour or day of some days. @returns how many there are in all of them. */
async function expectSeries(random: Random, query: string): Promise<number> {
  const datasets = random.pick([["global"], ["global"], DATASETS]);
  const { isEntitled, key, workspace } = random.pick(searched.callers);
  const interval = random.pick(["hour", "day"] as const);
  const width = interval === "hour" ? HOUR : DAY;
  const end = NOW - random.int(0, 2 * DAY);
  const start = end - random.int(1, 3 * DAY);
  const spans: { start: number; end: number }[] = [];
  const lastEnd = Math.ceil(end / HOUR) * HOUR;
  for (let at = Math.floor(start / HOUR) * HOUR; at < lastEnd; at += width) {
    spans.push({ start: at, end: Math.min(at + width, lastEnd) });
  }
  const known = knownIn(SEEN, datasets, workspace);
  const mayKnow = (one: Marked) => isEntitled || one.dataset === "personal";
  const expected = matchingBySpan(parse(query), known, mayKnow, spans);
  const counts = expected.map(({ length }) => length);
  const parameters = {
    query,
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    ...(datasets.length === 1 ? {} : { workspace_labels: datasets.join(",") }),
  };
  const stats = await searched.read(
    timeseriesStatsSchema,
    "/v3/gnql/timeseries/stats",
    { ...parameters, interval },
    key,
  );
  const dates = spans.map((span) => new Date(span.start).toISOString().slice(0, 23).replace("T", " "));
  expect(stats, JSON.stringify({ ...parameters, interval })).toEqual({
    count: counts.reduce((sum, one) => sum + one, 0),
    min: Math.min(...counts),
    max: Math.max(...counts),
    data: dates.map((date, index) => ({ date, count: counts[index] })),
  });
  if (interval === "hour") await expectHours(parameters, key, known.seen, expected, spans, random);
  return stats.count;
}

/** The rows of all hours, page by page. */
async function expectHours(
  parameters: Record<string, string>,
  key: string,
  visible: readonly Marked[],
  expected: readonly string[][],
  spans: readonly { readonly start: number; readonly end: number }[],
  random: Random,
) {
  const all = expected.flatMap((ips, index) =>
    ips
      .toSorted((one, other) => numberOf(one) - numberOf(other))
      .map((ip) => ({
        hour: new Date(spans[index]?.start ?? 0).toISOString().slice(0, 13).replace("T", "-"),
        ip,
        index,
      })),
  );
  const limit = random.pick([1, 5, 1_000]);
  const offset = random.int(0, Math.max(0, all.length - 1));
  const page = { ...parameters, limit: String(limit), offset: String(offset) };
  const hours = await searched.read(timeseriesSchema, "/v3/gnql/timeseries", page, key);
  const listed = Object.entries(hours).flatMap(([hour, rows]) => rows.map((row) => ({ hour, row })));
  const wanted = all.slice(offset, offset + limit);
  expect(listed.map(({ hour, row }) => [hour, row.ip])).toEqual(wanted.map(({ hour, ip }) => [hour, ip]));
  for (const [position, { ip, index }] of wanted.entries()) {
    const span = spans[index] ?? { start: 0, end: 0 };
    const done = visible.filter((one) => one.ip === ip && one.at >= span.start && one.at < span.end);
    const names = TAGS.filter(({ id }) => done.some(({ tagIds }) => tagIds.includes(id))).map(({ name }) => name);
    const row = listed[position]?.row.internet_scanner_intelligence;
    expect([...(row?.tags ?? [])].sort()).toEqual(names.sort());
    expect(row?.metadata.sensor_hits).toBe(done.length);
  }
}

test("random queries match the oracle's addresses in each hour and each day", { timeout: 600_000 }, async () => {
  const random = seeded(3);
  const ofEachField = CONDITIONS.map(([whole]) => whole);
  const queries = Array.from({ length: QUERIES }, () => randomQuery(random, wordsOf(SEEN), random.int(0, 3)));
  let found = 0;
  for (const query of ["*", `tags:${TAGS[0]?.slug}`, ofEachField.join(" OR "), ...queries]) {
    found += await expectSeries(random, query);
  }
  expect(found).toBeGreaterThan(QUERIES);
});
