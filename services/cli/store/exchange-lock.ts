import { exchangeLock } from "@noisefloor/clickhouse/backup/scratch-database.ts";
import { acquireServerLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import type { OpenClickHouse } from "@noisefloor/clickhouse/server/open.ts";
import { serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { UserError } from "../framework/command.ts";

/**
 * Takes the lock that a command holds while it exchanges tables of a store.
 * @returns how to release it.
 * @throws UserError while another command holds it.
 */
export async function holdExchangeLock({ connection }: OpenClickHouse): Promise<() => Promise<void>> {
  const release = await acquireServerLock(serverOf(connection), exchangeLock(connection.database));
  if (release !== undefined) return release;
  throw new UserError("a restore, a removal of observations or a reapplying of tags is running: wait for its end");
}
