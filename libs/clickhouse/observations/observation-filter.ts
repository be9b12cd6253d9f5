import { type Ipv4Network, lastAddress } from "@noisefloor/domain/address/ipv4.ts";
import { z } from "zod";
import { type Bind, bindValues } from "../client/bound-values.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
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
  /** The formats of the records that they came in. */
  readonly formats?: readonly string[] | undefined;
  readonly workspaces?: readonly string[] | undefined;
  /** When they were stored last, in milliseconds since 1970 UTC. */
  readonly receivedFrom?: number | undefined;
};

const isOneOf = (column: string, values: readonly string[], bind: Bind, type = "String") =>
  `${column} IN ${bind(`Array(${type})`, values)}`;

/** SQL: the condition for a row of `observations`. */
export function conditionOf(filter: ObservationFilter, bind: Bind): string {
  const { addresses, networks, from, to, datasets, formats, receivedFrom } = filter;
  const time = (ms: number) => `fromUnixTimestamp64Milli(${bind("Int64", ms)}, 'UTC')`;
  const address = (number: number) => `toIPv4(${bind("UInt32", number)})`;
  const ranges = networks?.map(
    (network) => `source_ip BETWEEN ${address(network.first)} AND ${address(lastAddress(network))}`,
  );
  return [
    ...sensorConditions(filter, bind),
    ...(addresses ? [isOneOf("source_ip", addresses, bind, "IPv4")] : []),
    ...(ranges ? [`(${ranges.join(" OR ")})`] : []),
    ...(from === undefined ? [] : [`observed_at >= ${time(from)}`]),
    ...(to === undefined ? [] : [`observed_at < ${time(to)}`]),
    ...(datasets ? [isOneOf("dataset", datasets, bind)] : []),
    ...(formats ? [isOneOf("format", formats, bind)] : []),
    ...(receivedFrom === undefined ? [] : [`received_at >= ${time(receivedFrom)}`]),
  ].join(" AND ");
}

/** SQL: what a filter says of the sensors, for every table that has their ids and workspaces. */
export function sensorConditions({ sensors, sensorPrefix, workspaces }: ObservationFilter, bind: Bind): string[] {
  return [
    ...(sensors ? [isOneOf("sensor_id", sensors, bind)] : []),
    ...(sensorPrefix === undefined ? [] : [`startsWith(sensor_id, ${bind("String", sensorPrefix)})`]),
    ...(workspaces ? [isOneOf("workspace_id", workspaces, bind)] : []),
  ];
}

/** What a filter finds; times in milliseconds since 1970 UTC, 0 without observations. */
const filteredSchema = z.object({
  observations: z.int(),
  addresses: z.int(),
  /** In which any of them was seen. */
  hours: z.int(),
  first: z.int(),
  last: z.int(),
});
export type FilteredObservations = z.infer<typeof filteredSchema>;

/** Counts the observations that a filter finds. Rows that replace each other count once. */
export function countFiltered(client: ClickHouseClient, filter: ObservationFilter): Promise<FilteredObservations> {
  const { bind, params } = bindValues();
  const query = defineQuery({
    name: "filtered-observations",
    sql: `SELECT count() AS observations, uniqExact(source_ip) AS addresses, uniqExact(toStartOfHour(observed_at)) AS hours,
        toUnixTimestamp64Milli(min(observed_at)) AS first, toUnixTimestamp64Milli(max(observed_at)) AS last
      FROM ${OBSERVATIONS} FINAL WHERE ${conditionOf(filter, bind)}
      SETTINGS do_not_merge_across_partitions_select_final = 1`,
    params: z.looseObject({}),
    row: filteredSchema,
  });
  return runForOne(client, query, params);
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
