import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { z } from "zod";

export const MIGRATIONS = fileURLToPath(new URL("../../../infra/clickhouse/migrations", import.meta.url));

/** A migrated database without rows, and a client of it. */
export type Database = { readonly connection: ClickHouseConnection; readonly client: ClickHouseClient };

type Unused = Database & { readonly schema: string };

/** By server. Migrating takes half a second, truncating a hundredth: a worker's tests use the same databases in turn. */
const unused = new Map<string, Unused[]>();
const migratedSchemas = new Map<string, string>();

/** @param server where the database is; the answer is empty and has the schema that the production migrations make. */
export async function takeDatabase(server: ClickHouseConnection): Promise<Database> {
  const waiting = unused.get(server.url) ?? [];
  for (let found = waiting.pop(); found !== undefined; found = waiting.pop()) {
    // The server may have gone, and another one have its port.
    const schema = await readSchema(found.client).catch(() => undefined);
    if (schema === found.schema) return found;
    await found.client.close();
  }
  const connection = { ...server, database: `test_${randomUUID().replaceAll("-", "")}` };
  await migrate(connection, MIGRATIONS);
  const client = connect({ ...connection, url: withoutCompiling(server.url) }, "noisefloor-tests");
  migratedSchemas.set(connection.database, await readSchema(client));
  return { connection, client };
}

/** Tests ask each query a few times only: compiling its expressions costs a third of the server's time and gains nothing. */
export function withoutCompiling(url: string): string {
  const asked = new URL(url);
  for (const what of ["expressions", "aggregate_expressions", "sort_description"]) {
    asked.searchParams.set(`ch_compile_${what}`, "0");
  }
  return asked.href;
}

/** Empties a database for the next world, or drops it when a test has changed its schema. */
export async function returnDatabase({ connection, client }: Database): Promise<void> {
  const schema = migratedSchemas.get(connection.database);
  const query_params = { name: connection.database };
  // A test may have dropped schema_migrations, so that the schema cannot be read.
  const current = await readSchema(client).catch(() => undefined);
  if (schema !== undefined && current === schema) {
    await client.command({
      query: "TRUNCATE ALL TABLES FROM {name:Identifier} NOT LIKE 'schema_migrations'",
      query_params,
    });
    unused.set(connection.url, [...(unused.get(connection.url) ?? []), { connection, client, schema }]);
    return;
  }
  await client.command({ query: "DROP DATABASE {name:Identifier}", query_params });
  await client.close();
}

const schemaQuery = defineQuery({
  name: "test-schema",
  sql: `SELECT toString(groupBitXor(cityHash64(name, replaceAll(create_table_query, currentDatabase(), '')))) AS schema,
      (SELECT toString(groupBitXor(cityHash64(version, checksum))) FROM schema_migrations FINAL) AS migrations
    FROM system.tables WHERE database = currentDatabase()`,
  params: z.object({}),
  row: z.object({ schema: z.string(), migrations: z.string() }),
});

/** Changes with every definition of a table and with every migration that is recorded. */
async function readSchema(client: ClickHouseClient): Promise<string> {
  const [row] = await run(client, schemaQuery, {});
  return `${row?.schema} ${row?.migrations}`;
}
