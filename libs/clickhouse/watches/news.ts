import { MAX_LATE_HOURS } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import {
  BLOCK,
  blockColumns,
  blockParams,
  blockParamsOf,
  IN_UNREAD_BLOCK,
  type KnownBlocks,
  selectBlocks,
  withBlocks,
} from "../changes/observation-changes.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { numberColumn, wideNumbers } from "../client/native.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { tablesIdentity } from "../client/store-identity.ts";
import { OBSERVATION_CHANGES, OBSERVATIONS } from "../client/table-names.ts";
import { FACETS } from "../facets/facets.ts";

/** SQL: whether a row was observed shortly before it was received: history is no news. */
const IS_FRESH = `observed_at >= received_at - toIntervalHour(${MAX_LATE_HOURS})`;
/** SQL: whether a row of the log was stored for the first time; rows that are stored again keep when they were received. */
const IS_NEW = "received_at >= stored_at - toIntervalMinute(2)";
/** SQL: whether two servers' rows belong to the dataset and workspace; in texts as `global ` and `personal w1`. */
const SCOPE = "concat(dataset, ' ', workspace_id)";

/** SQL: the values of the fields of `new_value` over a row, lower case as facets have them. */
const NEWS_FIELDS = { path: FACETS.path, tag: FACETS.tag } as const;
export type NewsField = keyof typeof NEWS_FIELDS;
const fields = Object.keys(NEWS_FIELDS).map((name) => `'${name}'`);

/** SQL: a number below 2^53 for a value, which JavaScript can hold. */
export const valueHash = (value: string) => `bitShiftRight(cityHash64(${value}), 11)`;

const newsColumns = z.object({
  version: z.array(z.string()).readonly(),
  /** Of each address, with its dataset and workspace: when it was observed and received last, in seconds since 1970 UTC. */
  scopes: z.array(z.string()).readonly(),
  addresses: numberColumn,
  observed: numberColumn,
  received: numberColumn,
  ...blockColumns.shape,
});

/** Addresses of which observations were stored, by the same index. Times in seconds since 1970 UTC, rounded down. */
export type News = Pick<z.output<typeof newsColumns>, "scopes" | "addresses" | "observed" | "received"> & {
  readonly blocks: KnownBlocks;
  /** Changes when a restore or a removal has exchanged the tables, so that blocks have other numbers. */
  readonly version: string;
};

const VERSION = `ifNull(toString(${tablesIdentity(["observation_changes"])}), '')`;
const seconds = (time: string) => `toUInt32(toUnixTimestamp(max(${time})))`;

const newsOfLog = defineQuery({
  name: "watch-news",
  sql: `SELECT ${VERSION} AS version, ${selectBlocks("groupUniqArrayArray(read)")},
      groupArrayIf(scope, is_news) AS scopes, groupArrayIf(address, is_news) AS addresses,
      groupArrayIf(last_observed, is_news) AS observed, groupArrayIf(last_received, is_news) AS received
    FROM (
      SELECT ${SCOPE} AS scope, toUInt32(source_ip) AS address, (${IS_FRESH} AND ${IS_NEW}) AS is_news,
        ${seconds("observed_at")} AS last_observed, ${seconds("received_at")} AS last_received,
        groupUniqArray(${BLOCK}) AS read
      FROM ${OBSERVATION_CHANGES}
      WHERE ${IN_UNREAD_BLOCK} AND stored_at >= now() - toIntervalSecond({seconds:UInt32})
      GROUP BY scope, address, is_news)`,
  params: blockParams.extend({ seconds: z.int() }),
  row: newsColumns,
  format: "Native",
});

/** What was stored in the last seconds, beside the known blocks. */
export async function readNews(client: ClickHouseClient, known: KnownBlocks, maxSeconds: number): Promise<News> {
  const row = await runForOne(client, newsOfLog, { ...blockParamsOf(known), seconds: Math.ceil(maxSeconds) });
  const { version, isInOrder, partitions, numbers, ...columns } = row;
  return { ...columns, version: version[0] ?? "", blocks: withBlocks(known, { isInOrder, partitions, numbers }) };
}

const newsOfObservations = defineQuery({
  name: "watch-news-after-gap",
  sql: `SELECT groupArray(scope) AS scopes, groupArray(address) AS addresses,
      groupArray(last_observed) AS observed, groupArray(last_received) AS received
    FROM (
      SELECT ${SCOPE} AS scope, toUInt32(source_ip) AS address,
        ${seconds("observed_at")} AS last_observed, ${seconds("received_at")} AS last_received
      FROM ${OBSERVATIONS}
      WHERE received_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND ${IS_FRESH}
        AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') - toIntervalHour(${MAX_LATE_HOURS})
      GROUP BY scope, address)`,
  params: z.object({ since: z.int() }),
  row: newsColumns.pick({ scopes: true, addresses: true, observed: true, received: true }),
  format: "Native",
});

/** The same of everything that was received since a time (ms since 1970 UTC), where the log has ended before. */
export const readNewsSince = (client: ClickHouseClient, since: number) =>
  runForOne(client, newsOfObservations, { since });

/** A value that was stored, with what identifies it. */
const valuesRow = z.object({
  names: z.array(z.string()).readonly(),
  values: z.array(z.string()).readonly(),
  hashes: wideNumbers,
});

const valuesOf = (
  rows: string,
) => `SELECT groupArray(name) AS names, groupArray(value) AS values, groupArray(hash) AS hashes
  FROM (SELECT DISTINCT concat(field, ' ', scope) AS name, arrayJoin(texts) AS value, ${valueHash("value")} AS hash
    FROM (SELECT ${SCOPE} AS scope, field, texts FROM ${rows} ARRAY JOIN [${fields.join(", ")}] AS field,
      [${Object.values(NEWS_FIELDS).join(", ")}] AS texts WHERE has({fields:Array(String)}, field)))`;

const valuesOfLog = defineQuery({
  name: "watch-values",
  sql: valuesOf(`(SELECT * FROM ${OBSERVATION_CHANGES} WHERE ${IN_UNREAD_BLOCK} AND ${IS_FRESH} AND ${IS_NEW}
    AND stored_at >= now() - toIntervalSecond({seconds:UInt32}))`),
  params: blockParams.extend({ seconds: z.int(), fields: z.array(z.string()) }),
  row: valuesRow,
  format: "Native",
});
const valuesOfObservations = defineQuery({
  name: "watch-values-after-gap",
  sql: valuesOf(`(SELECT * FROM ${OBSERVATIONS} WHERE received_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    AND ${IS_FRESH} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') - toIntervalHour(${MAX_LATE_HOURS}))`),
  params: z.object({ since: z.int(), fields: z.array(z.string()) }),
  row: valuesRow,
  format: "Native",
});

/** Values of fields that were stored, by the same index; `names` have the field and, as of {@link News}, the scope. */
export type NewsValues = z.output<typeof valuesRow>;

/** The values in blocks beside the known ones. */
export const readNewsValues = (
  client: ClickHouseClient,
  wanted: readonly NewsField[],
  known: KnownBlocks,
  maxSeconds: number,
): Promise<NewsValues> =>
  runForOne(client, valuesOfLog, { ...blockParamsOf(known), seconds: Math.ceil(maxSeconds), fields: [...wanted] });

export const readNewsValuesSince = (
  client: ClickHouseClient,
  wanted: readonly NewsField[],
  since: number,
): Promise<NewsValues> => runForOne(client, valuesOfObservations, { since, fields: [...wanted] });
