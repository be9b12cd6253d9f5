import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { ALL_PARTS } from "../bench/all.ts";
import { addressOf } from "../bench/history.ts";
import { isAgainstLimit, SPEED_OF_LIMITS } from "../bench/line.ts";
import { measureSpeed } from "../bench/machine-speed.ts";
import { toSvg } from "../bench/report/chart.ts";
import { compareReports } from "../bench/report/compare.ts";
import { type PartReport, type Report, reportSchema } from "../bench/report/report.ts";
import { toMarkdown } from "../bench/report/table.ts";
import { measurePart, openRun } from "../bench/run.ts";
import { shapeOf } from "../bench/shape.ts";
import { onDemand } from "../support/servers/on-demand.ts";
import { withoutCompiling } from "../support/worlds/databases.ts";

const SIZE = 30_000;
const SEED = 1;
const PACE = { rounds: 1, loadSeconds: 0.1, repeatMs: 0, perMessage: [1_000] };

let opened: ReturnType<typeof openRun>;
const parts: PartReport[] = [];

beforeAll(async () => {
  const broker = async () => (await onDemand("kafka")).split(",")[0] ?? "";
  const server = inject("clickhouse");
  const clickhouse = { ...server, url: withoutCompiling(server.url) };
  opened = openRun({ clickhouse, broker, size: SIZE, smaller: [1 / 4], seed: SEED, pace: PACE, say: () => {} });
  await opened.run.world();
});
afterAll(() => opened.close());

test("the steady tag has the same addresses from the first days to the last, the ordinary tag has others", async () => {
  const { client, steady, ordinary, history } = await opened.run.world();
  const seen = async (tag: Tag, order: "ASC" | "DESC") => {
    const result = await client.query({
      query: `SELECT DISTINCT toString(source_ip) AS ip FROM (
        SELECT source_ip FROM observations WHERE has(tags, {tag:UUID}) ORDER BY observed_at ${order} LIMIT 500)`,
      query_params: { tag: tag.id },
      format: "JSONEachRow",
    });
    return z
      .array(z.object({ ip: z.string() }))
      .parse(await result.json())
      .map(({ ip }) => ip)
      .sort();
  };
  const { steadyAddresses } = shapeOf(SIZE, SIZE / 4, "changing");
  const first = history.addresses - steadyAddresses;
  const addresses = Array.from({ length: steadyAddresses }, (_, index) => addressOf(first + index)).sort();
  expect(await seen(steady, "ASC")).toEqual(addresses);
  expect(await seen(steady, "DESC")).toEqual(addresses);
  const early = new Set(await seen(ordinary, "ASC"));
  const late = await seen(ordinary, "DESC");
  expect(late.filter((ip) => early.has(ip)).length).toBeLessThan(late.length / 2);
});

test.each(ALL_PARTS)("the benchmark measures $what", async (part) => {
  const report = await measurePart(part, opened.run, 10);
  expect(report).toMatchObject({ failures: [] });
  // The part about memory takes cgroups, which not every machine lets a test make.
  const isSkipped = report.notes.some((note) => note.startsWith("Skipped"));
  if (!isSkipped) expect(report.lines.length).toBeGreaterThan(1);
  for (const line of report.lines) {
    expect(line.ratio.median, line.name).toBeGreaterThan(0);
    expect(line.fault, `${line.name} against ${line.peer}`).toBeUndefined();
  }
  parts.push(report);
});

test("a report is drawn, read back, and compared with an earlier one", async () => {
  const emptyRoutePerSecond = await measureSpeed(opened.run);
  expect(emptyRoutePerSecond).toBeGreaterThan(0);
  const made = { made: "2026-11-20", machine: "test", size: SIZE, seed: SEED, rounds: 1, seconds: 1 };
  const report: Report = { ...made, emptyRoutePerSecond, parts };
  const lines = parts.flatMap((part) => part.lines);
  expect(toSvg(report).split("<rect").length).toBeGreaterThan(lines.length);
  expect(toMarkdown(report).split("\n| ").length).toBeGreaterThan(lines.length);
  const [here, there] = [12_345, SPEED_OF_LIMITS].map((rate) => `${rate.toLocaleString("en-US")}/s`);
  expect(toMarkdown({ ...report, emptyRoutePerSecond: 12_345 })).toContain(`answered ${here} here, and ${there} where`);
  const earlier = reportSchema.parse(JSON.parse(JSON.stringify(report)));
  expect(compareReports(report, earlier).filter(({ change }) => change !== 1)).toEqual([]);
  const better = { min: 1e9, median: 1e9, max: 1e9 };
  const faster = parts.map((part) => ({ ...part, lines: part.lines.map((line) => ({ ...line, ratio: better })) }));
  const compared = compareReports(report, { ...report, parts: faster });
  expect(compared.every(({ isWorse }) => isWorse)).toBe(true);
  // On a slower machine a limit in milliseconds is missed although no code has changed.
  const againstPeers = lines.filter((line) => !isAgainstLimit(line));
  expect(compared.map(({ line }) => line)).toEqual(againstPeers);
  expect(againstPeers.length).toBeLessThan(lines.length);
});
