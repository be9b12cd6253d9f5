import { defineQuery, onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { FIRST_SEEN_COST } from "../costs.ts";
import { daysBack, LIMIT, WORKSPACE_LABELS } from "../parameters.ts";
import { facetRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { count, ip, timestamp } from "../wire.ts";
import { latestAddresses, latestOf, latestOfLists } from "./latest-addresses.ts";
import { EXAMPLE_METADATA, metadata, STATS, WINDOW } from "./operations.ts";
import { registerStatistic } from "./statistic.ts";
import { readStoredSpan, storedSpanShape, toStoredSpan } from "./stored-hours.ts";

/** Over more days, most addresses are new, as scanners change theirs. */
const FIRST_SEEN_DAYS = daysBack(30);

/** `GET /v3/stats/first-seen`: which addresses are new. */
export const getFirstSeen = defineOperation({
  ...STATS,
  id: "getFirstSeen",
  path: "/v3/stats/first-seen",
  summary: "Which addresses were seen for the first time",
  description:
    "Those with an observation in the window and none before it that is still stored, the newest first. What is stored " +
    `begins at \`stored_from\`: in the time after that, most addresses are new. ${WINDOW}`,
  queryParameters: [FIRST_SEEN_DAYS, LIMIT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The addresses, possibly none.",
    schema: z
      .strictObject({
        ips: z.array(z.strictObject({ ip, first_seen: timestamp }).meta({ id: "NewAddress" })),
        total_ips: count.describe("All of them, exactly, also those beyond the limit."),
        metadata: metadata.extend(storedSpanShape).meta({ id: "FirstSeenMetadata" }),
      })
      .meta({ id: "FirstSeen" }),
    example: {
      ips: [{ ip: "192.175.48.6", first_seen: "2026-11-20T13:20:26Z" }],
      total_ips: 1,
      metadata: { ...EXAMPLE_METADATA, stored_from: "2026-08-12T15:00:00Z", stored_to: "2026-11-20T14:00:00Z" },
    },
  },
});

/**
 * The addresses of which the first observation since `since` is not before `from`, both in milliseconds since 1970 UTC.
 * Only addresses that were seen since then are looked for, as all others need no group.
 */
export const firstSeenSince = defineQuery({
  name: "stats-first-seen",
  sql: `SELECT count() AS total_ips, ${latestOf("(first, source_ip)")} AS newest FROM (
      SELECT source_ip, toUnixTimestamp64Milli(min(observed_at)) AS first FROM ${OBSERVATIONS}
      WHERE ${IN_SCOPES} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND source_ip IN (
        SELECT source_ip FROM ${facetRows("seen")})
      GROUP BY source_ip HAVING first >= {from:Int64})`,
  combine: (results) =>
    `SELECT sum(result.total_ips) AS total_ips, ${latestOfLists("result.newest")} AS newest FROM ${results} AS result`,
  params: z.object({ scopes: scopesParam, from: z.int(), since: z.int(), limit: z.int() }),
  row: z.object({ total_ips: z.int(), newest: latestAddresses }),
});

export function registerFirstSeen(app: FastifyInstance, deps: RouteDeps): void {
  registerStatistic(app, getFirstSeen, deps, {
    days: FIRST_SEEN_DAYS,
    cost: FIRST_SEEN_COST,
    async read(parameters, signal) {
      const [rows, stored] = await Promise.all([
        deps.read(firstSeenSince, parameters, signal),
        readStoredSpan(parameters, deps.read, signal),
      ]);
      return { ...onlyRow(firstSeenSince, rows), stored };
    },
    toBody: ({ newest, total_ips, stored }, { metadata }) => ({
      ips: newest.map(([first, address]) => ({ ip: address, first_seen: formatTimestamp(first) })),
      total_ips,
      metadata: { ...metadata, ...toStoredSpan(stored) },
    }),
  });
}
