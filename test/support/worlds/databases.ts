import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { z } from "zod";

export const MIGRATIONS = fileURLToPath(new URL("../../../infra/clickhouse/migrations", import.meta.url));

/** A migrated database without rows, and a client of it. */
export type Database = { readonly connection: ClickHouseConnection; readonly client: ClickHouseClient };

/** By server. A migration takes half a second, a truncation a hundredth, so the tests of a worker reuse databases. */
const unused = new Map<string, Database[]>();
const migratedSchemas = new Map<string, string>();

/** @param server where the database is; the answer is empty and has the schema that the production migrations make. */
export async function takeDatabase(server: ClickHouseConnection): Promise<Database> {
  const waiting = unused.get(server.url) ?? [];
  for (let found = waiting.pop(); found !== undefined; found = waiting.pop()) {
    // The server may have ended, and another one use its port.
    const isThere = await found.client.command({ query: "SELECT 1" }).then(
      () => true,
      () => false,
    );
    if (isThere) return found;
    await found.client.close();
  }
  const connection = { ...server, database: `test_${randomUUID().replaceAll("-", "")}` };
  await migrate(connection, MIGRATIONS);
  const client = connect({ ...connection, url: withoutCompiling(server.url) }, "noisefloor-tests");
  migratedSchemas.set(connection.database, (await readState(client)).schema);
  return { connection, client };
}

/** Tests run each query only a few times: compiling its expressions would take a third of the server's time. */
export function withoutCompiling(url: string): string {
  const asked = new URL(url);
  for (const what of ["expressions", "aggregate_expressions", "sort_description"]) {
    asked.searchParams.set(`ch_compile_${what}`, "0");
  }
  return asked.href;
}

/** Empties a database for the next world, or drops it when a test has changed its schema. */
export async function returnDatabase({ connection, client }: Database): Promise<void> {
  // A test may have dropped schema_migrations, so that the schema cannot be read.
  const state = await readState(client).catch(() => undefined);
  if (state !== undefined && state.schema === migratedSchemas.get(connection.database)) {
    await Promise.all(state.filled.map((table) => client.command({ query: `TRUNCATE TABLE ${table}` })));
    unused.set(connection.url, [...(unused.get(connection.url) ?? []), { connection, client }]);
    return;
  }
  await client.command({ query: "DROP DATABASE {name:Identifier}", query_params: { name: connection.database } });
  await client.close();
}

const stateQuery = defineQuery({
  name: "test-state",
  sql: `SELECT toString(groupBitXor(cityHash64(name, replaceAll(create_table_query, currentDatabase(), '')))) AS tables,
      (SELECT toString(groupBitXor(cityHash64(version, checksum))) FROM schema_migrations FINAL) AS migrations,
      groupArrayIf(name, total_rows > 0 AND name != 'schema_migrations') AS filled
    FROM system.tables WHERE database = currentDatabase()`,
  params: z.object({}),
  row: z.object({ tables: z.string(), migrations: z.string(), filled: z.array(z.string()) }),
});

/**
 * `schema` changes with every definition of a table and every migration that is recorded; `filled` tables have rows.
 */
async function readState(client: ClickHouseClient): Promise<{ schema: string; filled: readonly string[] }> {
  const [row] = await run(client, stateQuery, {});
  return { schema: `${row?.tables} ${row?.migrations}`, filled: row?.filled ?? [] };
}
