import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { type CompiledSearch, searchParams } from "../conditions/compile-bitmaps.ts";
import { allRows, facetRows } from "../scope-sql.ts";

/** The numbers of a search, and the first `limit` addresses from the number `first` on. Small bitmaps are unordered. */
export const searchPage = ({ sql }: CompiledSearch) =>
  defineQuery({
    name: "search-page",
    sql: `SELECT bitmapCardinality(found) AS count, bitmapCardinality(matching) AS matching,
        arraySort(bitmapToArray(bitmapSubsetLimit(found, {first:UInt32}, {limit:UInt32}))) AS addresses
      FROM (${sql})`,
    combine: (results) => `SELECT sum(result.count) AS count, sum(result.matching) AS matching,
          arraySlice(arraySort(arrayFlatten(groupArray(result.addresses))), 1, {limit:UInt32}) AS addresses
        FROM ${results} AS result`,
    params: searchParams.extend({ first: z.int(), limit: z.int() }),
    row: z.object({ count: z.int(), matching: z.int(), addresses: z.array(z.int()) }),
  });

/** How many addresses a search has, in reach and in all, and how many of these match each of its narrower ones. */
export const searchCounts = ({ sql }: Pick<CompiledSearch, "sql">) =>
  defineQuery({
    name: "search-counts",
    sql: `SELECT bitmapCardinality(found) AS count, bitmapCardinality(matching) AS matching, narrower FROM (${sql})`,
    combine: (results) => `SELECT sum(result.count) AS count, sum(result.matching) AS matching,
        sumForEach(result.narrower) AS narrower FROM ${results} AS result`,
    params: searchParams,
    row: z.object({ count: z.int(), matching: z.int(), narrower: z.array(z.int()) }),
  });

/**
 * SQL: a SELECT of a search's addresses as numbers, `ip`, each with the `last` time that it was seen. To look for a
 * million addresses in the key would take longer than to read all.
 */
export const foundAddresses = ({ sql, scopes }: CompiledSearch) => `SELECT ip, last FROM (
      SELECT toUInt32(source_ip) AS ip, max(last_seen) AS last FROM ${facetRows("seen", scopes)}
        AND toUInt32(source_ip) IN (SELECT arrayJoin(bitmapToArray(found)) FROM (${sql}))
      GROUP BY ip SETTINGS use_index_for_in_with_subqueries = 0)`;

/** All addresses of a search as numbers, in blocks: the last seen first, ties by address. */
export const searchAll = (compiled: CompiledSearch) => {
  const rows = foundAddresses(compiled);
  const inOrder = (from: string) => `SELECT ip AS source_ip FROM ${from} ORDER BY last DESC, ip`;
  return defineQuery({
    name: "search-all",
    sql: inOrder(`(${rows})`),
    perServer: rows,
    combine: (results) => inOrder(`(${allRows(results)})`),
    params: searchParams,
    row: z.object({ source_ip: numberColumn }),
    format: "Native",
  });
};
