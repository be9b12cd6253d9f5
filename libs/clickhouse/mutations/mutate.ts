import type { ClickHouseClient, ClickHouseSettings } from "../client/connect.ts";
import { identifier } from "../client/sql-text.ts";
import { SPREAD_TABLES } from "../schema/tables.ts";

export type Change = {
  /** One of ours. */
  readonly table: string;
  /** SQL: what follows ALTER TABLE and its name. */
  readonly change: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly settings?: ClickHouseSettings | undefined;
};

/**
 * Changes or deletes rows. Resolves when each server that answers has changed them: from then on no answer has the rows
 * of before. Can be repeated.
 * @throws StoreTimeoutError when a replica does not do it in time.
 */
export async function mutate(client: ClickHouseClient, { table, change, params, settings }: Change): Promise<void> {
  const isSpread = SPREAD_TABLES.includes(table);
  for (const owner of isSpread ? await client.owners() : [client]) {
    await owner.command({
      query: `ALTER TABLE ${identifier(table)} ${change}`,
      ...(params && { query_params: { ...params } }),
      // The server waits for itself and for each replica that has a session with Keeper.
      clickhouse_settings: { mutations_sync: "3", ...settings },
    });
  }
  if (isSpread) await client.settle(table);
}
