import { type Ipv4Network, ipv4ToNumber, lastAddress } from "@noisefloor/domain/address/ipv4.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { OBSERVATIONS } from "../client/table-names.ts";

/** Which observations: those for which every member that is given holds. Of a list, one value is enough. */
export type ObservationFilter = {
  readonly sensors?: readonly string[] | undefined;
  /** The beginning of sensors' ids. */
  readonly sensorPrefix?: string | undefined;
  /** IPv4 addresses. */
  readonly addresses?: readonly string[] | undefined;
  readonly networks?: readonly Ipv4Network[] | undefined;
  /** When they were seen, in milliseconds since 1970 UTC; `to` exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly datasets?: readonly string[] | undefined;
  /** Of the records that they came in. */
  readonly formats?: readonly string[] | undefined;
  readonly workspaces?: readonly string[] | undefined;
  /** When they were stored last, in milliseconds since 1970 UTC. */
  readonly receivedFrom?: number | undefined;
};

const time = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;
const oneOf = (column: string, values: readonly string[]) => `${column} IN (${values.map(literal).join(", ")})`;

/** SQL: the condition for a row of `observations`, with values that it may be spliced with. */
export function conditionOf(filter: ObservationFilter): string {
  const { addresses, networks, from, to, datasets, formats, receivedFrom } = filter;
  const ranges = networks?.map(
    (network) => `source_ip BETWEEN toIPv4(toUInt32(${network.first})) AND toIPv4(toUInt32(${lastAddress(network)}))`,
  );
  return [
    ...sensorConditions(filter),
    ...(addresses
      ? [`source_ip IN (${addresses.map((ip) => `toIPv4(toUInt32(${ipv4ToNumber(ip)}))`).join(", ")})`]
      : []),
    ...(ranges ? [`(${ranges.join(" OR ")})`] : []),
    ...(from === undefined ? [] : [`observed_at >= ${time(from)}`]),
    ...(to === undefined ? [] : [`observed_at < ${time(to)}`]),
    ...(datasets ? [oneOf("dataset", datasets)] : []),
    ...(formats ? [oneOf("format", formats)] : []),
    ...(receivedFrom === undefined ? [] : [`received_at >= ${time(receivedFrom)}`]),
  ].join(" AND ");
}

/** SQL: what a filter says of the sensors, for every table that has their ids and workspaces. */
export function sensorConditions({ sensors, sensorPrefix, workspaces }: ObservationFilter): string[] {
  return [
    ...(sensors ? [oneOf("sensor_id", sensors)] : []),
    ...(sensorPrefix === undefined ? [] : [`startsWith(sensor_id, ${literal(sensorPrefix)})`]),
    ...(workspaces ? [oneOf("workspace_id", workspaces)] : []),
  ];
}

/** What a filter finds; times in milliseconds since 1970 UTC, 0 without observations. */
export type FilteredObservations = {
  readonly observations: number;
  readonly addresses: number;
  /** In which any of them was seen. */
  readonly hours: number;
  readonly first: number;
  readonly last: number;
};

/** Counts the observations that a filter finds. Rows that replace each other count once. */
export function countFiltered(client: ClickHouseClient, filter: ObservationFilter): Promise<FilteredObservations> {
  const query = defineQuery({
    name: "filtered-observations",
    sql: `SELECT count() AS observations, uniqExact(source_ip) AS addresses, uniqExact(toStartOfHour(observed_at)) AS hours,
        toUnixTimestamp64Milli(min(observed_at)) AS first, toUnixTimestamp64Milli(max(observed_at)) AS last
      FROM ${OBSERVATIONS} FINAL WHERE ${conditionOf(filter)}
      SETTINGS do_not_merge_across_partitions_select_final = 1`,
    params: z.object({}),
    row: z.object({
      observations: z.int(),
      addresses: z.int(),
      hours: z.int(),
      first: z.int(),
      last: z.int(),
    }),
  });
  return runForOne(client, query, {});
}

/** The columns of `observations` whose values a user may name. */
export type NamedColumn = "sensor_id" | "workspace_id" | "format";

/** The values of a column that stored observations have, those of most rows first; never the empty text. */
export async function readNames(client: ClickHouseClient, column: NamedColumn): Promise<string[]> {
  const names = defineQuery({
    name: "observation-names",
    sql: `SELECT ${column} AS name, count() AS rows FROM ${OBSERVATIONS} WHERE ${column} != ''
      GROUP BY name ORDER BY rows DESC, name`,
    params: z.object({}),
    row: z.object({ name: z.string(), rows: z.int() }),
  });
  return (await run(client, names, {})).map(({ name }) => name);
}
