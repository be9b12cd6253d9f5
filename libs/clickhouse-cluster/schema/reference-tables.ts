import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { identifier, literal } from "@noisefloor/clickhouse/client/sql-text.ts";
import { storingAgain } from "@noisefloor/clickhouse/client/storing-again.ts";
import { COPIED_TABLES, SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { z } from "zod";
import { askingReplica } from "../replicas/settings.ts";

/** Tables of which every server has all rows; each server notes its own migrations. */
const REFERENCE_TABLES = COPIED_TABLES.filter(
  (table) => !SPREAD_TABLES.includes(table) && table !== "schema_migrations",
);

/** The same rows may have been inserted before, into a partition that was dropped since. */
export const copySettings = () => ({ ...storingAgain(), skip_unavailable_shards: 0 }) as const;

/** A cluster as SQL names it. */
export type NamedCluster = {
  /** Its name in `remote_servers`. */
  readonly name: string;
  /** On each of its servers. */
  readonly database: string;
};

/** SQL: a table of a cluster, all shards of it, for a server that need not be one of them. */
export function tableOnCluster({ name, database }: NamedCluster, table: string): string {
  return `cluster(${[name, database, table].map(literal).join(", ")})`;
}

/** One server of a cluster, and its database. */
type ClusterServer = NamedCluster & {
  /** Counted from 1; the first, if left out. */
  readonly shard?: number;
  /** Counted from 0; any, if left out. */
  readonly replica?: number;
};

/** Replaces the rows of a server's reference tables by those of another server. */
export async function copyReferenceTables(server: ClickHouseClient, from: ClusterServer): Promise<void> {
  const { shard = 1, replica } = from;
  for (const table of REFERENCE_TABLES) {
    const columns = await storedColumns(server, table);
    await server.command({ query: `TRUNCATE TABLE ${table}` });
    await server.command({
      query: `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${tableOnCluster(from, table)}
        WHERE _shard_num = ${shard}`,
      clickhouse_settings: { ...copySettings(), ...(replica !== undefined && askingReplica(replica)) },
    });
  }
}

const columnsOf = defineQuery({
  name: "stored-columns",
  sql: `SELECT name FROM system.columns
    WHERE database = currentDatabase() AND table = {table:String}
      AND default_kind NOT IN ('ALIAS', 'EPHEMERAL', 'MATERIALIZED')
    ORDER BY position`,
  params: z.object({ table: z.string() }),
  row: z.object({ name: z.string() }),
});

/** SQL: the columns of a table that an INSERT can name. */
export async function storedColumns(client: ClickHouseClient, table: string): Promise<string> {
  return (await run(client, columnsOf, { table })).map(({ name }) => identifier(name)).join(", ");
}
