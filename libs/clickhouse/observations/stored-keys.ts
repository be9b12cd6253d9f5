import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { mutate } from "../mutations/mutate.ts";

/** What tells an observation from all others. `observed_at` in milliseconds since 1970 UTC. */
export type ObservationKey = {
  readonly source_ip: string;
  readonly dataset: string;
  readonly workspace_id: string;
  readonly observed_at: number;
  readonly sensor_id: string;
  readonly observation_id: string;
};

const time = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;

/** SQL: the condition for observations with these keys. Some hundred fit into a query. */
function withKeys(keys: readonly ObservationKey[]): string {
  const tuples = keys.map(({ source_ip, dataset, workspace_id, observed_at, sensor_id, observation_id }) => {
    const texts = [sensor_id, observation_id].map(literal);
    const scope = [literal(dataset), literal(workspace_id)];
    return `(${[`toIPv4(${ipv4ToNumber(source_ip)})`, ...scope, time(observed_at), ...texts].join(", ")})`;
  });
  return `(source_ip, dataset, workspace_id, observed_at, sensor_id, observation_id) IN (${tuples.join(", ")})`;
}

/** Whether the store has any of these observations. @param keys some hundred. @param since when it was received. */
export async function hasAny(client: ClickHouseClient, keys: readonly ObservationKey[], since = 0): Promise<boolean> {
  const found = defineQuery({
    name: "rows-with-keys",
    sql: `SELECT count() AS count FROM ${OBSERVATIONS} WHERE ${withKeys(keys)} AND received_at >= ${time(since)}`,
    params: z.object({}),
    row: z.object({ count: z.int() }),
  });
  return (await runForOne(client, found, {})).count > 0;
}

/**
 * Deletes the rows of these observations that were stored since a moment; of an observation that was stored before, the
 * row from then counts again.
 * @param keys some hundred. @param startedAt the moment, in milliseconds of `performance.now()`.
 * @param beforeDeletion called if there are any.
 */
export async function deleteStoredSince(
  client: ClickHouseClient,
  keys: readonly ObservationKey[],
  startedAt: number,
  beforeDeletion: () => Promise<void>,
): Promise<void> {
  // By the server's clock, which says when a row was received; the answer's way only makes the moment earlier.
  const { at } = await runForOne(client, serverTime, {});
  const since = Math.floor(at - (performance.now() - startedAt));
  if (!(await hasAny(client, keys, since))) return;
  await beforeDeletion();
  const change = `DELETE WHERE ${withKeys(keys)} AND received_at >= ${time(since)}`;
  await mutate(client, { table: "observations", change, settings: { log_comment: "delete-rejected" } });
}

const serverTime = defineQuery({
  name: "server-time-ms",
  sql: "SELECT toUnixTimestamp64Milli(now64(3)) AS at",
  params: z.object({}),
  row: z.object({ at: z.int() }),
});
