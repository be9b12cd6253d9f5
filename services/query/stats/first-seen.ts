import { defineQuery, onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_NETWORKS, OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation, registerOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { FIRST_SEEN_COST } from "../costs.ts";
import { daysBack, LIMIT, WORKSPACE_LABELS } from "../parameters.ts";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { createSharedAnswers } from "../shared-answers.ts";
import { count, ip, timestamp } from "../wire.ts";
import { type AskedDeps, readLimited, toMetadata, toQuestion } from "./asked.ts";
import { latestAddresses, latestOf, latestOfLists } from "./latest-addresses.ts";
import { EXAMPLE_METADATA, metadata, STATS, WINDOW } from "./operations.ts";
import { readStoredSpan, type StoredSpan, storedSpanShape, toStoredSpan } from "./stored-hours.ts";

/** Of more days than these, most addresses are new, as scanners change theirs. */
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
const firstSeenSince = defineQuery({
  name: "stats-first-seen",
  sql: `SELECT count() AS total_ips, ${latestOf("(first, source_ip)")} AS newest FROM (
      SELECT source_ip, toUnixTimestamp64Milli(min(observed_at)) AS first FROM ${OBSERVATIONS}
      WHERE ${IN_SCOPES} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND source_ip IN (
        SELECT source_ip FROM ${ADDRESS_NETWORKS}
        WHERE ${IN_SCOPES} AND last_seen >= fromUnixTimestamp64Milli({from:Int64}, 'UTC'))
      GROUP BY source_ip HAVING first >= {from:Int64})`,
  combine: (results) =>
    `SELECT sum(result.total_ips) AS total_ips, ${latestOfLists("result.newest")} AS newest FROM ${results} AS result`,
  params: z.object({ scopes: scopesParam, from: z.int(), since: z.int(), limit: z.int() }),
  row: z.object({ total_ips: z.int(), newest: latestAddresses }),
});

type Found = z.output<(typeof firstSeenSince)["row"]> & { readonly stored: StoredSpan };

export function registerFirstSeen(app: FastifyInstance, deps: AskedDeps): void {
  const answer = createSharedAnswers<Found>(app);
  registerOperation(app, getFirstSeen, async (request, _reply, { signal }) => {
    const asked = readLimited(request, deps, FIRST_SEEN_DAYS);
    const question = toQuestion(request, "first-seen", asked, FIRST_SEEN_COST);
    const { total_ips, newest, stored } = await answer(question, signal, async (shared) => {
      const [rows, stored] = await Promise.all([
        deps.read(firstSeenSince, asked, shared),
        readStoredSpan(asked, deps.read, shared),
      ]);
      return { ...onlyRow(firstSeenSince, rows), stored };
    });
    return {
      ips: newest.map(([first, address]) => ({ ip: address, first_seen: formatTimestamp(first) })),
      total_ips,
      metadata: { ...toMetadata(asked), ...toStoredSpan(stored) },
    };
  });
}
