import { type Bind, bindValues } from "@noisefloor/clickhouse/client/bound-values.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { z } from "zod";
import { allRows, scopesParam } from "../../scope-sql.ts";
import { extensionsOf } from "../file-types.ts";
import { callbackRows } from "../rows-sql.ts";
import type { CallbackFilter } from "./filter.ts";

const FILE_NAME = "arrayElement(splitByChar('/', cutQueryStringAndFragment(path)), -1)";
const EXTENSION = `lower(arrayElement(splitByChar('.', ${FILE_NAME}), -1))`;

const addressesIn = (sent: readonly string[]) => sent.map(plainIpv4).filter(isIpv4);

/** Whether some row of a host meets a condition of the filter. */
function rowConditions(filter: CallbackFilter, bind: Bind): string[] {
  const { scanner_ips: scanners, file_name: name, file_hash: hash, file_type: type } = filter;
  return [
    ...(scanners === undefined ? [] : [`source_ip IN ${bind("Array(IPv4)", addressesIn(scanners))}`]),
    ...(hash === undefined ? [] : [`sha256 = ${bind("String", hash.toLowerCase())}`]),
    ...(name === undefined
      ? []
      : [`sha256 != '' AND positionCaseInsensitiveUTF8(${FILE_NAME}, ${bind("String", name)}) > 0`]),
    ...(type === undefined ? [] : [`sha256 != '' AND ${EXTENSION} IN ${bind("Array(String)", extensionsOf(type))}`]),
  ];
}

function hostConditions(filter: CallbackFilter, bind: Bind): string[] {
  // As numbers: a time of the server's begins in 1900.
  const at = (time: string) => bind("Int64", Date.parse(time));
  const ms = (column: string) => `toUnixTimestamp64Milli(${column})`;
  const { first_seen_after, first_seen_before, last_seen_after, last_seen_before, has_files: hasFiles } = filter;
  return [
    ...(filter.is_stage_1 === false || filter.is_stage_2 === true ? ["false"] : []),
    ...(first_seen_after === undefined ? [] : [`${ms("first_time")} >= ${at(first_seen_after)}`]),
    ...(first_seen_before === undefined ? [] : [`${ms("first_time")} < ${at(first_seen_before)}`]),
    ...(last_seen_after === undefined ? [] : [`${ms("last_time")} >= ${at(last_seen_after)}`]),
    ...(last_seen_before === undefined ? [] : [`${ms("last_time")} < ${at(last_seen_before)}`]),
    ...(hasFiles === undefined ? [] : [hasFiles ? "notEmpty(all_files)" : "empty(all_files)"]),
  ];
}

/** The addresses that visitors named, each with what is known of it, as far as a filter has it. */
function filtered(filter: CallbackFilter, maxScopes: number) {
  const { bind, params } = bindValues();
  const ofRows = rowConditions(filter, bind);
  const { ips } = filter;
  // A row that has the host's name alone is no proof of a file: each condition may hold for another row.
  const flags = ofRows.map((condition, number) => `max(${condition}) AS flag${number}`);
  const rows = `SELECT ${["host", "min(first_seen) AS first", "max(last_seen) AS last", "groupBitmapState(toUInt32(source_ip)) AS scanners", "groupUniqArrayIf(sha256, sha256 != '') AS files", ...flags].join(", ")}
    FROM ${callbackRows(maxScopes)} AND isIPv4String(host) AND host NOT IN {known:Array(String)}${ips === undefined ? "" : ` AND host IN ${bind("Array(String)", addressesIn(ips))}`}
    GROUP BY host`;
  const having = ["true", ...hostConditions(filter, bind), ...ofRows.map((_, number) => `max(flag${number}) = 1`)].join(
    " AND ",
  );
  const hosts = (from: string) => `SELECT host, min(first) AS first_time, max(last) AS last_time,
      groupBitmapMergeState(scanners) AS visitors, groupUniqArrayArray(files) AS all_files
    FROM ${from} GROUP BY host HAVING ${having}`;
  return { rows, hosts, params };
}

const filterParams = z
  .object({ scopes: scopesParam, since: z.int(), known: z.array(z.string()) })
  .catchall(z.unknown());

/** How many addresses a filter has, and one page of them: the last seen first, ties by address. Times in ms since 1970 UTC. */
export function callbackPage(filter: CallbackFilter, maxScopes: number) {
  const { rows, hosts, params } = filtered(filter, maxScopes);
  const page = (
    from: string,
  ) => `SELECT count() AS total, arraySlice(arraySort(each -> (-each.3, toIPv4(each.1)), groupArray((
        host, toUnixTimestamp64Milli(first_time), toUnixTimestamp64Milli(last_time),
        toUInt32(bitmapCardinality(visitors)), toUInt32(length(all_files))))),
      {offset:UInt32} + 1, {limit:UInt32}) AS page
    FROM (${hosts(from)})`;
  const query = defineQuery({
    name: "callback-page",
    sql: page(`(${rows})`),
    perServer: rows,
    combine: (results) => page(`(${allRows(results)})`),
    params: filterParams.extend({ offset: z.int(), limit: z.int() }),
    row: z.object({ total: z.int(), page: z.array(z.tuple([z.string(), z.int(), z.int(), z.int(), z.int()])) }),
  });
  return { query, params };
}

/** All addresses that a filter has, in the same order. */
export function callbackAddresses(filter: CallbackFilter, maxScopes: number) {
  const { rows, hosts, params } = filtered(filter, maxScopes);
  const all = (from: string) => `SELECT host FROM (${hosts(from)}) ORDER BY last_time DESC, toIPv4(host)`;
  const query = defineQuery({
    name: "callback-addresses",
    sql: all(`(${rows})`),
    perServer: rows,
    combine: (results) => all(`(${allRows(results)})`),
    params: filterParams,
    row: z.object({ host: z.string() }),
  });
  return { query, params };
}

/** The numbers of a filter. */
export function callbackOverview(filter: CallbackFilter, maxScopes: number) {
  const { rows, hosts, params } = filtered(filter, maxScopes);
  const numbers = (from: string) => `SELECT count() AS ips, countIf(notEmpty(all_files)) AS withFiles,
      length(groupUniqArrayArray(all_files)) AS files, sum(length(all_files)) AS fileLinks,
      sum(bitmapCardinality(visitors)) AS visitorLinks, groupBitmapMerge(visitors) AS distinctVisitors
    FROM (${hosts(from)})`;
  const query = defineQuery({
    name: "callback-overview",
    sql: numbers(`(${rows})`),
    perServer: rows,
    combine: (results) => numbers(`(${allRows(results)})`),
    params: filterParams,
    row: z.object({
      ips: z.int(),
      withFiles: z.int(),
      files: z.int(),
      fileLinks: z.int(),
      visitorLinks: z.int(),
      distinctVisitors: z.int(),
    }),
  });
  return { query, params };
}

/** How many visitors, and how many files, of an address are listed at most. */
export const MAX_LISTED = 1_000;

/** The visitors that named some hosts and the files that were fetched from these, each the last seen first. */
export function callbackLinks(maxScopes: number) {
  const visitors = `SELECT host, 'scanner' AS kind, toString(source_ip) AS value, '' AS name, max(last_seen) AS last
    FROM ${callbackRows(maxScopes)} AND host IN {hosts:Array(String)} GROUP BY host, value`;
  const files = `SELECT host, 'file' AS kind, sha256 AS value, argMax(${FILE_NAME}, (last_seen, ${FILE_NAME})) AS name, max(last_seen) AS last
    FROM ${callbackRows(maxScopes)} AND host IN {hosts:Array(String)} AND sha256 != '' GROUP BY host, value`;
  const rows = `${visitors} UNION ALL ${files}`;
  const joined = (from: string) => `SELECT host, kind, value, argMax(name, (last, name)) AS file FROM ${from}
    GROUP BY host, kind, value ORDER BY host, kind, max(last) DESC, value LIMIT ${MAX_LISTED} BY host, kind`;
  return defineQuery({
    name: "callback-links",
    sql: joined(`(${rows})`),
    perServer: rows,
    combine: (results) => joined(`(${allRows(results)})`),
    params: z.object({ scopes: scopesParam, since: z.int(), hosts: z.array(z.string()) }),
    row: z.object({ host: z.string(), kind: z.enum(["scanner", "file"]), value: z.string(), file: z.string() }),
  });
}
