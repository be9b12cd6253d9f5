import { type ClickHouseClient, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import type { ClickHouseConnection } from "../client/connection.ts";
import { scratchNameOf } from "./scratch-database.ts";

/** One server of a restore. */
export type ServerWork = {
  readonly connection: ClickHouseConnection;
  /** To the scratch database, in which the store's next tables are prepared. */
  readonly scratch: ClickHouseConnection;
  readonly server: ClickHouseClient;
  /** A client of the scratch database. */
  readonly prepared: ClickHouseClient;
  /** A client of the store's database, in which every table exists when tables are swapped. */
  readonly live: ClickHouseClient;
  close(): Promise<void>;
};

export function openServerWork(connection: ClickHouseConnection): ServerWork {
  const open = (to: ClickHouseConnection) => connect(to, "noisefloor-restore", LONG_REQUEST_MS);
  const scratch = { ...connection, database: scratchNameOf(connection.database) };
  const clients = {
    server: open({ ...connection, database: "default" }),
    prepared: open(scratch),
    live: open(connection),
  };
  return {
    connection,
    scratch,
    ...clients,
    async close() {
      for (const client of Object.values(clients)) await client.close();
    },
  };
}
