import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ACTIVITY_HOURLY } from "@noisefloor/clickhouse/client/table-names.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** SQL: the rows since an hour. */
const SINCE = `${IN_SCOPES} AND hour >= toDateTime({from:UInt32}, 'UTC')`;
/** Seconds since 1970 UTC, on the hour. */
const params = z.object({ scopes: scopesParam, from: z.int() });

/** The first and the last hour in which each tag was seen since one, in seconds. */
export const tagHours = defineQuery({
  name: "today-tag-hours",
  sql: `SELECT tag_id, toUnixTimestamp(min(hour)) AS first, toUnixTimestamp(max(hour)) AS last
    FROM ${TAG_ACTIVITY_HOURLY} WHERE ${SINCE} AND tag_id != toUUID('${NIL_TAG_ID}') GROUP BY tag_id`,
  combine: (results) => `SELECT tag_id, min(result.first) AS first, max(result.last) AS last
    FROM ${results} AS result GROUP BY tag_id`,
  params,
  row: z.object({ tag_id: z.string(), first: z.int(), last: z.int() }),
});

/** The distinct addresses since an hour of each group of tags; `groups` has for each of `tags` the numbers of its groups. */
export const countTagGroups = defineQuery({
  name: "today-tag-counts",
  sql: `SELECT arrayJoin({groups:Array(Array(UInt32))}[indexOf({tags:Array(UUID)}, tag_id)]) AS number,
      uniqExactMerge(addresses) AS active_ips
    FROM ${TAG_ACTIVITY_HOURLY} WHERE tag_id IN {tags:Array(UUID)} AND ${SINCE} GROUP BY number`,
  combine: (results) => `SELECT number, sum(result.active_ips) AS active_ips FROM ${results} AS result GROUP BY number`,
  params: params.extend({
    tags: z.array(z.string()).readonly(),
    groups: z.array(z.array(z.int()).readonly()).readonly(),
  }),
  row: z.object({ number: z.int(), active_ips: z.int() }),
});

/** SQL: how many days of 24 hours a row is before `start`. */
const DAYS_BEFORE = "(intDiv({start:UInt32} - toUnixTimestamp(hour) - 1, 86400) + 1)";
const BEFORE = `${SINCE} AND hour < toDateTime({start:UInt32}, 'UTC')`;
const beforeParams = params.extend({ start: z.int() });

/** The distinct addresses of each tag in each day of 24 hours before `start`, numbered from 1 on. */
export const countTagDays = defineQuery({
  name: "today-tag-days",
  sql: `SELECT tag_id, ${DAYS_BEFORE} AS day, uniqExactMerge(addresses) AS active_ips
    FROM ${TAG_ACTIVITY_HOURLY} WHERE ${BEFORE} AND tag_id != toUUID('${NIL_TAG_ID}') GROUP BY tag_id, day`,
  combine: (results) =>
    `SELECT tag_id, day, sum(result.active_ips) AS active_ips FROM ${results} AS result GROUP BY tag_id, day`,
  params: beforeParams,
  row: z.object({ tag_id: z.string(), day: z.int(), active_ips: z.int() }),
});

/** The days before `start` in which anything was seen. */
export const observedDays = defineQuery({
  name: "today-observed-days",
  sql: `SELECT DISTINCT ${DAYS_BEFORE} AS day FROM ${TAG_ACTIVITY_HOURLY}
    WHERE ${BEFORE} AND tag_id = toUUID('${NIL_TAG_ID}')`,
  combine: (results) => `SELECT DISTINCT day FROM ${results}`,
  params: beforeParams,
  row: z.object({ day: z.int() }),
});
