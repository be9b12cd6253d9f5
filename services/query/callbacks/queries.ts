import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { type CompiledSearch, searchParams } from "../conditions/compile-bitmaps.ts";
import { allRows, scopesParam } from "../scope-sql.ts";
import { COMMAND_SQL, callbackRows, URL_SQL } from "./rows-sql.ts";

/** SQL: whether a row's visitor is one that a search finds. */
const isFound = ({ sql }: Pick<CompiledSearch, "sql">) =>
  ` AND toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql}))`;

/** Which callbacks are asked for. */
export type Asked = {
  readonly maxScopes: number;
  /** Only those that these visitors named. */
  readonly search: CompiledSearch | undefined;
  /** Only those among the hosts of {known:Array(String)}, or only the others. */
  readonly isKnown: boolean | undefined;
};

const rowsOf = ({ maxScopes, search }: Asked) =>
  `${callbackRows(maxScopes)}${search === undefined ? "" : isFound(search)}`;

/** Max ports, and max schemes, of a host. */
const MAX_PORTS = 100;

/** How many hosts there are, and the first of them: the last seen first, ties by name. Times in ms since 1970 UTC. */
export function callbackHosts(asked: Asked) {
  const isAsked =
    asked.isKnown === undefined ? "" : ` AND host ${asked.isKnown ? "IN" : "NOT IN"} {known:Array(String)}`;
  // Each server has other visitors: their numbers add up.
  const rows = `SELECT host, min(first_seen) AS first, max(last_seen) AS last, uniqExact(source_ip) AS visitors,
      groupUniqArrayIf(${MAX_PORTS})(port, port != 0) AS ports, groupUniqArrayIf(${MAX_PORTS})(scheme, scheme != '') AS schemes
    FROM ${rowsOf(asked)}${isAsked} GROUP BY host`;
  const joined = (from: string) => `SELECT *, count() OVER () AS count FROM (
      SELECT host, toUnixTimestamp64Milli(min(first)) AS firstSeen, toUnixTimestamp64Milli(max(last)) AS lastSeen,
        sum(visitors) AS visitors, arraySort(groupUniqArrayArray(ports)) AS ports,
        arraySort(groupUniqArrayArray(schemes)) AS schemes
      FROM ${from} GROUP BY host)
    ORDER BY lastSeen DESC, host LIMIT {limit:UInt32}`;
  return defineQuery({
    name: "callback-hosts",
    sql: joined(`(${rows})`),
    perServer: rows,
    combine: (results) => joined(`(${allRows(results)})`),
    params: searchParams.extend({ since: z.int(), limit: z.int(), known: z.array(z.string()).optional() }),
    row: z.object({
      host: z.string(),
      firstSeen: z.int(),
      lastSeen: z.int(),
      visitors: z.int(),
      ports: z.array(z.int()),
      schemes: z.array(z.string()),
      count: z.int(),
    }),
  });
}

/** How many commands, URLs and digests a host has at most. */
export const MAX_TEXTS = 20;

/** What was said of some hosts: of each kind the texts that were seen last, ties by text. */
export function callbackTexts(asked: Asked) {
  const rows = `SELECT host, text.1 AS kind, text.2 AS value, max(last_seen) AS last FROM (
      SELECT host, last_seen, arrayJoin(arrayFilter(text -> text.2 != '',
        [('command', ${COMMAND_SQL}), ('url', ${URL_SQL}), ('sha256', sha256)])) AS text
      FROM ${rowsOf(asked)} AND host IN {hosts:Array(String)})
    GROUP BY host, kind, value`;
  const joined = (from: string) => `SELECT host, kind, value FROM ${from} GROUP BY host, kind, value
    ORDER BY host, kind, max(last) DESC, value LIMIT ${MAX_TEXTS} BY host, kind`;
  return defineQuery({
    name: "callback-texts",
    sql: joined(`(${rows})`),
    perServer: rows,
    combine: (results) => joined(`(${allRows(results)})`),
    params: searchParams.extend({ since: z.int(), hosts: z.array(z.string()) }),
    row: z.object({ host: z.string(), kind: z.enum(["command", "url", "sha256"]), value: z.string() }),
  });
}

/** How often each entry of the known hosts stood for some callbacks. */
export const knownCounts = (maxScopes: number) => {
  const rows = `SELECT transform(host, {hosts:Array(String)}, {entries:Array(String)}, '') AS entry,
      uniqExact(source_ip) AS visitors, max(last_seen) AS last FROM ${callbackRows(maxScopes)} AND host IN {hosts:Array(String)}
    GROUP BY entry`;
  return defineQuery({
    name: "callback-known-counts",
    sql: `SELECT entry, visitors, toUnixTimestamp64Milli(last) AS lastSeen FROM (${rows})`,
    perServer: rows,
    combine: (results) => `SELECT entry, sum(visitors) AS visitors, toUnixTimestamp64Milli(max(last)) AS lastSeen
      FROM (${allRows(results)}) GROUP BY entry`,
    params: z.object({
      scopes: scopesParam,
      since: z.int(),
      hosts: z.array(z.string()),
      entries: z.array(z.string()),
    }),
    row: z.object({ entry: z.string(), visitors: z.int(), lastSeen: z.int() }),
  });
};
