import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ADDRESSES } from "@noisefloor/clickhouse/client/table-names.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { z } from "zod";
import { BLOCK, IN_BLOCKS_OF_HOURS, JOIN_ACTORS } from "../activity/queries.ts";
import { facetRows, scopesParam } from "../scope-sql.ts";

/** Those of the tags in the one scope of the request, with which the table's key begins. */
const SERIES = "SELECT sipHash128(arrayJoin({tags:Array(UUID)}), {dataset0:String}, {workspace0:String})";

const masks = z.array(z.bigint()).readonly();
const counts = { ips_1d: z.int(), ips_10d: z.int(), ips_30d: z.int() };

/**
 * The distinct addresses of each CVE in three windows, apart for those of known benign actors that did not attack since
 * `since` (milliseconds). `cves` has for each of `tags` the numbers of the CVEs that it names; each window is given by the bits of its hours in the blocks from
 * `first` to `end`, see `blocksOf`.
 */
export const countPerCve = defineQuery({
  name: "cve-activity",
  sql: `
    SELECT cve, address.number <= actor.last AND toIPv4(address.number) NOT IN (
        SELECT source_ip FROM ${facetRows("tag", undefined, "since")} AND value = '${ATTACK_TAG_ID}') AS is_benign,
      uniqExactIf(address.number, in_1d) AS ips_1d,
      uniqExactIf(address.number, in_10d) AS ips_10d,
      uniqExactIf(address.number, in_30d) AS ips_30d
    FROM (
      SELECT 1 AS one, toUInt32(source_ip) AS number,
        arrayJoin({cves:Array(Array(UInt32))}[indexOf({tags:Array(UUID)}, tag_id)]) AS cve,
        bitAnd(hours, {masks1d:Array(UInt64)}[${BLOCK}]) != 0 AS in_1d,
        bitAnd(hours, {masks10d:Array(UInt64)}[${BLOCK}]) != 0 AS in_10d,
        bitAnd(hours, {masks30d:Array(UInt64)}[${BLOCK}]) != 0 AS in_30d
      FROM ${TAG_ADDRESSES} WHERE series IN (${SERIES}) AND ${IN_BLOCKS_OF_HOURS}
    ) AS address
    ${JOIN_ACTORS}
    GROUP BY cve, is_benign`,
  combine: (results) => `SELECT cve, is_benign, sum(result.ips_1d) AS ips_1d, sum(result.ips_10d) AS ips_10d,
        sum(result.ips_30d) AS ips_30d
      FROM ${results} AS result GROUP BY cve, is_benign`,
  params: z.object({
    scopes: scopesParam,
    since: z.int(),
    tags: z.array(z.string()).readonly(),
    cves: z.array(z.array(z.int()).readonly()).readonly(),
    first: z.int(),
    end: z.int(),
    masks1d: masks,
    masks10d: masks,
    masks30d: masks,
  }),
  row: z.object({ cve: z.int(), is_benign: z.int(), ...counts }),
});
