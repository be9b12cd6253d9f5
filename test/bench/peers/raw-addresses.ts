import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import type { World } from "../world.ts";
import { classificationOf, GLOBAL, worstSql } from "./severities.ts";

/** What the service and its peers must answer alike about an address. */
export type AddressAnswer = {
  readonly classification: string;
  /** Only of the full form. */
  readonly sensors?: number;
  readonly observations?: number;
  readonly lastSeen?: string;
};
export type AddressAnswers = ReadonlyMap<string, AddressAnswer>;

const params = z.object({ ips: z.array(z.string()) });
const OF_ADDRESSES = `source_ip IN {ips:Array(IPv4)} AND ${GLOBAL}`;

const quickOf = (worst: string) =>
  defineQuery({
    name: "bench-raw-quick",
    sql: `SELECT toString(source_ip) AS ip, max(${worst}) AS worst FROM observations WHERE ${OF_ADDRESSES} GROUP BY source_ip`,
    params,
    row: z.object({ ip: z.string(), worst: z.int() }),
  });

/** The most that the server takes in one parameter. */
const PER_QUERY = 2_000;

/** Whether each address was seen, and its classification. */
export async function askRawQuick(world: World, ips: readonly string[]): Promise<AddressAnswers> {
  const query = quickOf(worstSql(world));
  const rows = await inChunks(ips, (chunk) => run(world.client, query, { ips: chunk }));
  return new Map(rows.map(({ ip, worst }) => [ip, { classification: classificationOf(worst) }]));
}

const distinct = (column: string) => `arraySort(groupUniqArrayIf(${column}, ${column} != ''))`;
const latest = (column: string, empty: string) => `argMaxIf(${column}, observed_at, ${column} != ${empty})`;

const fullOf = (worst: string) =>
  defineQuery({
    name: "bench-raw-full",
    sql: `SELECT toString(source_ip) AS ip, max(${worst}) AS worst, uniqExact(sensor_id) AS sensors,
        uniqExact(observation_id) AS observations, toString(toDateTime(max(observed_at), 'UTC')) AS last_seen,
        min(observed_at) AS first_seen, groupUniqArrayArray(tags) AS tag_ids,
        arraySort(groupUniqArray((destination_port, transport))) AS ports, ${distinct("http_method")} AS methods,
        ${distinct("http_path")} AS paths, ${distinct("http_user_agent")} AS user_agents,
        ${distinct("tls_ja3")} AS ja3, ${distinct("tls_ja4")} AS ja4, ${distinct("ssh_hassh")} AS hassh,
        ${latest("asn", "0")} AS last_asn, ${latest("organization", "''")} AS last_organization,
        ${latest("country", "''")} AS last_country, ${latest("city", "''")} AS last_city,
        ${latest("rdns", "''")} AS last_rdns
      FROM observations WHERE ${OF_ADDRESSES} GROUP BY source_ip`,
    params,
    row: z.object({
      ip: z.string(),
      worst: z.int(),
      sensors: z.int(),
      observations: z.int(),
      last_seen: z.string(),
    }),
  });

/** Everything that the full form of an address tells. */
export async function askRawFull(world: World, ips: readonly string[]): Promise<AddressAnswers> {
  const query = fullOf(worstSql(world));
  const rows = await inChunks(ips, (chunk) => run(world.client, query, { ips: chunk }));
  return new Map(
    rows.map(({ ip, worst, sensors, observations, last_seen }) => [
      ip,
      { classification: classificationOf(worst), sensors, observations, lastSeen: last_seen },
    ]),
  );
}

async function inChunks<Row>(ips: readonly string[], ask: (chunk: string[]) => Promise<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let start = 0; start < ips.length; start += PER_QUERY) {
    rows.push(...(await ask(ips.slice(start, start + PER_QUERY))));
  }
  return rows;
}

const timelineOf = (worst: string) =>
  defineQuery({
    name: "bench-raw-timeline",
    sql: `SELECT toUnixTimestamp(toStartOfDay(observed_at, 'UTC')) AS day, ${worst} AS worst,
        uniqExact(observation_id) AS observations
      FROM observations
      WHERE source_ip = {ip:IPv4} AND ${GLOBAL} AND observed_at >= now64(3, 'UTC') - toIntervalDay({days:UInt32})
      GROUP BY day, worst ORDER BY day DESC`,
    params: z.object({ ip: z.string(), days: z.int() }),
    row: z.object({ day: z.int(), worst: z.int(), observations: z.int() }),
  });

/** @returns the observations of an address in the last days, day by day and class by class, added up. */
export async function askRawTimeline(world: World, ip: string, days: number): Promise<number> {
  const rows = await run(world.client, timelineOf(worstSql(world)), { ip, days });
  return rows.reduce((sum, { observations }) => sum + observations, 0);
}

/** One lookup as its own query, as a request to the server. */
export function rawLookupRequest({ connection }: World, ip: string): { path: string; headers: Record<string, string> } {
  const query = `SELECT max(observed_at) AS last_seen, groupUniqArrayArray(tags) AS tag_ids
    FROM observations WHERE source_ip = toIPv4('${ip}') AND ${GLOBAL} FORMAT JSONCompact`;
  const parameters = new URLSearchParams({ database: connection.database, query });
  return {
    path: `/?${parameters}`,
    headers: { "X-ClickHouse-User": connection.username, "X-ClickHouse-Key": connection.password },
  };
}
