import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import type { ActivityAnswer, ActivityQuestion } from "../activity-question.ts";
import type { World } from "../world.ts";
import { classificationOf, GLOBAL, worstSql } from "./severities.ts";

const IN_WINDOW = `has(tags, {tag:UUID})
    AND observed_at >= toDateTime({start:UInt32}, 'UTC') AND observed_at < toDateTime({end:UInt32}, 'UTC')`;
const BUCKET = "intDiv(toUnixTimestamp(observed_at) - {start:UInt32}, {width:UInt32})";
const CAP = 1_000;
const params = z.object({ tag: z.string(), start: z.int(), end: z.int(), width: z.int() });

const counts = defineQuery({
  name: "bench-raw-counts",
  sql: `SELECT ${BUCKET} AS bucket, uniqExact(source_ip) AS active_ips
    FROM observations WHERE ${GLOBAL} AND ${IN_WINDOW} GROUP BY bucket`,
  params,
  row: z.object({ bucket: z.int(), active_ips: z.int() }),
});

/** The addresses of each bucket with the lowest hash values. */
const lists = defineQuery({
  name: "bench-raw-lists",
  sql: `SELECT bucket, length(lowest) AS listed, arrayStringConcat(arrayMap(one -> toString(one.2), lowest), ',') AS ips
    FROM (
      SELECT bucket, groupArraySorted(${CAP})((intHash32(toUInt32(source_ip)), source_ip)) AS lowest
      FROM (SELECT DISTINCT ${BUCKET} AS bucket, source_ip FROM observations WHERE ${GLOBAL} AND ${IN_WINDOW})
      GROUP BY bucket
    )`,
  params,
  row: z.object({ bucket: z.int(), listed: z.int(), ips: z.string() }),
});

const classesOf = (worst: string) =>
  defineQuery({
    name: "bench-raw-classes",
    sql: `SELECT worst, count() AS addresses FROM (
        SELECT source_ip, max(${worst}) AS worst FROM observations WHERE ${GLOBAL}
        GROUP BY source_ip HAVING countIf(${IN_WINDOW}) > 0
      ) GROUP BY worst`,
    params,
    row: z.object({ worst: z.int(), addresses: z.int() }),
  });

/** The same question over raw observations. */
export async function askRaw(world: World, question: ActivityQuestion): Promise<ActivityAnswer> {
  const { tag, start, end, width, includeIps } = question;
  const given = { tag: tag.id, start, end, width };
  const counted = await run(world.client, counts, given);
  const classes = await run(world.client, classesOf(worstSql(world)), given);
  const listed = includeIps ? await run(world.client, lists, given) : undefined;
  const byBucket = new Map(counted.map(({ bucket, active_ips }) => [bucket, active_ips]));
  return {
    total: classes.reduce((sum, { addresses }) => sum + addresses, 0),
    buckets: Array.from({ length: Math.ceil((end - start) / width) }, (_, bucket) => byBucket.get(bucket) ?? 0),
    classes: Object.fromEntries(classes.map(({ worst, addresses }) => [classificationOf(worst), addresses])),
    listed: listed?.reduce((sum, row) => sum + row.listed, 0),
  };
}
