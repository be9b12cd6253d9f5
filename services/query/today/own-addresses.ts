import { defineQuery, type Read } from "@noisefloor/clickhouse/client/query.ts";
import type { GuardNetwork } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import { rangesOf } from "../feeds/guard/guard.ts";
import { facetRows, scopesParam } from "../scope-sql.ts";
import { latestAddresses, latestOf, latestOfLists } from "../stats/latest-addresses.ts";

/** The addresses in some disjoint ranges that were seen since `from` (milliseconds): how many, and the last seen. */
const seenInRanges = defineQuery({
  name: "today-own-addresses",
  sql: `SELECT count() AS count, ${latestOf("(toUnixTimestamp64Milli(last), source_ip)")} AS latest FROM (
      SELECT source_ip, max(last_seen) AS last FROM (
        SELECT 1 AS one, source_ip, toUInt32(source_ip) AS number, last_seen FROM ${facetRows("seen")}
      ) AS seen
      ASOF JOIN (
        SELECT 1 AS one, own.1 AS first, own.2 AS last
        FROM (SELECT arrayJoin(arrayZip({first:Array(UInt32)}, {last:Array(UInt32)})) AS own)
      ) AS own ON own.one = seen.one AND seen.number >= own.first
      WHERE number <= own.last GROUP BY source_ip)`,
  combine: (results) =>
    `SELECT sum(result.count) AS count, ${latestOfLists("result.latest")} AS latest FROM ${results} AS result`,
  params: z.object({
    scopes: scopesParam,
    from: z.int(),
    first: z.array(z.int()),
    last: z.array(z.int()),
    limit: z.int(),
  }),
  row: z.object({ count: z.int(), latest: latestAddresses }),
});

/** Which addresses of some networks were seen since a time (milliseconds), with how many there are. */
export async function readOwnAddresses(
  networks: readonly GuardNetwork[],
  { scopes, from, limit }: { readonly scopes: Scope[]; readonly from: number; readonly limit: number },
  read: Read,
  signal: AbortSignal,
): Promise<z.output<typeof seenInRanges.row>> {
  const ranges = rangesOf(networks);
  if (ranges.length === 0) return { count: 0, latest: [] };
  const params = { first: ranges.map((range) => range.first), last: ranges.map((range) => range.last) };
  const [found] = await read(seenInRanges, { scopes, from, limit, ...params }, signal);
  return found ?? { count: 0, latest: [] };
}
