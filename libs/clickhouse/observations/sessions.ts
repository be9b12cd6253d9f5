import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { OBSERVATION_COLUMNS, observationColumns, type StoredObservation } from "./observation-columns.ts";

/** Its parameters are part of the request's line, which the server bounds. */
const PER_QUERY = { items: 2_000, bytes: 256 * 1024 };

const texts = z.array(z.string());
const params = z.object({ ips: texts, ids: texts, from: z.int(), to: z.int() });

const BETWEEN = `
  observed_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND observed_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC')`;

/**
 * Most sessions are new: whether any is stored is asked first, of the key's first column and of the ids at its values.
 */
const storedIds = defineQuery({
  name: "stored-session-ids",
  sql: `
    SELECT DISTINCT source_ip, observation_id
    FROM ${OBSERVATIONS}
    PREWHERE source_ip IN {ips:Array(IPv4)}
    WHERE observation_id IN {ids:Array(String)} AND ${BETWEEN}`,
  params,
  row: z.object({ source_ip: z.string(), observation_id: z.string() }),
});

/**
 * FINAL: of two states of a session that one insert has, which were received at the same time, the later one counts.
 * All columns of the condition are in the table's key, so rows may be left out before.
 */
const storedSessions = defineQuery({
  name: "stored-sessions",
  sql: `
    SELECT ${OBSERVATION_COLUMNS}, toUnixTimestamp64Milli(received_at) AS stored_at
    FROM ${OBSERVATIONS} FINAL
    WHERE source_ip IN {ips:Array(IPv4)} AND observation_id IN {ids:Array(String)} AND ${BETWEEN}
    ORDER BY received_at DESC
    LIMIT 1 BY source_ip, dataset, workspace_id, sensor_id, observation_id
    SETTINGS optimize_move_to_prewhere_if_final = 1`,
  params,
  row: observationColumns.extend({ stored_at: z.int() }),
});

/**
 * The row of a session, as it was last stored; `began_at` and `stored_at`, by the server's clock, in milliseconds since
 * 1970 UTC.
 */
export type StoredSession = StoredObservation & { readonly stored_at: number };

/** A session to look for: its source and the id that its row is stored under. */
export type SessionAddress = { readonly sourceIp: string; readonly observationId: string };

/** Reads sessions that began between two times, in milliseconds since 1970 UTC. */
export async function readSessions(
  client: ClickHouseClient,
  sessions: readonly SessionAddress[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<StoredSession[]> {
  const found: StoredSession[] = [];
  for (const some of chunksOf(sessions, ({ observationId }) => observationId.length * 3 + 20, PER_QUERY)) {
    const ips = [...new Set(some.map(({ sourceIp }) => sourceIp))];
    const ids = [...new Set(some.map(({ observationId }) => observationId))];
    const stored = await run(client, storedIds, { ips, ids, from, to });
    if (stored.length === 0) continue;
    const known = {
      ips: [...new Set(stored.map(({ source_ip }) => source_ip))],
      ids: [...new Set(stored.map(({ observation_id }) => observation_id))],
    };
    found.push(...(await run(client, storedSessions, { ...known, from, to })));
  }
  return found;
}
