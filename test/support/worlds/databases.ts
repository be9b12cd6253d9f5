import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { ClickHouseClient, ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { applyRetention, DEFAULT_RETENTION_DAYS } from "@noisefloor/clickhouse/storage/retention.ts";
import { distributedDatabase } from "@noisefloor/clickhouse-cluster/client/names.ts";
import { connectStore, migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { inject } from "vitest";
import { z } from "zod";
import { countWorld } from "../timings/counts.ts";
import { type Caches, NEVER_MS, openCaches, stopCaches, watchCaches } from "./caches.ts";
import { addCaller } from "./callers.ts";

export const MIGRATIONS = fileURLToPath(new URL("../../../infra/clickhouse/migrations", import.meta.url));

/** A migrated database whose only rows are those of one caller. */
export type Database = {
  readonly connection: ClickHouseConnection;
  readonly client: ClickHouseClient;
  /** The key of a caller with every permission. */
  readonly key: string;
  /** They do not poll. */
  readonly caches: Caches;
  /** Empties the database for the next test, or drops it when this one has changed its schema. */
  giveBack(): Promise<void>;
};

/** A database without a user, with as much of the caller and the caches as the last one has left unchanged. */
type Unused = {
  readonly connection: ClickHouseConnection;
  readonly client: ClickHouseClient;
  readonly schema: Schema;
  readonly caller: Caller | undefined;
  readonly caches: Partial<Caches>;
};

/**
 * `definitions` is a hash of what all tables are and of the recorded migrations, `changed` of when each table was
 * altered last: undefined when that is so recent that another change could have the same time.
 */
type Schema = { readonly definitions: string; readonly changed: string | undefined };

/** `rows` is a hash of the caller's rows. */
type Caller = { readonly key: string; readonly rows: string };

/**
 * By server. A migration takes half a second, the caller and the caches a sixth, a truncation a hundredth: the tests of
 * a worker reuse databases.
 */
const unused = new Map<string, Unused[]>();
/** A server is used by itself or as one of a cluster, or of another one. */
const keyOf = ({ url, cluster = "" }: ClickHouseConnection) => `${url} ${cluster}`;

/** @param server where the database is; it has the schema that the production migrations make. */
export async function takeDatabase(server: ClickHouseConnection): Promise<Database> {
  countWorld();
  const { connection, client, schema, ...left } = (await findUnused(server)) ?? (await makeDatabase(server));
  const caller = left.caller ?? (await makeCaller(client));
  const caches = await openCaches(client, NEVER_MS, left.caches);
  const takeUnchanged = watchCaches(caches, caller.key);
  return {
    connection,
    client,
    key: caller.key,
    caches,
    async giveBack() {
      const unchanged = takeUnchanged();
      const state = await emptied(client, schema, caller);
      if (state === undefined) {
        stopCaches(unchanged);
        await dropDatabase(client, connection.database);
        await client.close();
        return;
      }
      const { accessCache, ...others } = unchanged;
      const { schema: left } = state;
      if (!state.isCallerLeft) accessCache?.stop();
      const kept = state.isCallerLeft ? { caller, caches: unchanged } : { caller: undefined, caches: others };
      unused.set(keyOf(server), [...(unused.get(keyOf(server)) ?? []), { connection, client, schema: left, ...kept }]);
    },
  };
}

/**
 * Removes all rows but those of the caller, and these too if there are others.
 * @returns undefined when the schema is not the one that the database began with.
 */
async function emptied(
  client: ClickHouseClient,
  schema: Schema,
  caller: Caller,
): Promise<{ readonly isCallerLeft: boolean; readonly schema: Schema } | undefined> {
  try {
    const { access, filled, changed } = await readState(client);
    const isCallerLeft = access === caller.rows;
    const removed = filled.filter((table) => !(isCallerLeft && ACCESS_TABLES.includes(table)));
    await Promise.all(removed.map((table) => client.command({ query: `TRUNCATE TABLE ${table}` })));
    if (changed !== undefined && changed === schema.changed) return { isCallerLeft, schema };
    const { definitions } = schema;
    if ((await readDefinitions(client)) === definitions) return { isCallerLeft, schema: { definitions, changed } };
    // Many tests change the retention alone.
    await applyRetention(client, DEFAULT_RETENTION_DAYS);
    const isAsBefore = (await readDefinitions(client)) === definitions;
    return isAsBefore ? { isCallerLeft, schema: { definitions, changed: undefined } } : undefined;
  } catch {
    // A test has dropped a table that this needs.
    return undefined;
  }
}

/** Drops a database with what a cluster has beside it. */
export async function dropDatabase(client: ClickHouseClient, database: string): Promise<void> {
  for (const name of [distributedDatabase(database), database]) {
    await client.command({ query: "DROP DATABASE IF EXISTS {name:Identifier}", query_params: { name } });
  }
}

async function findUnused(server: ClickHouseConnection): Promise<Unused | undefined> {
  const waiting = unused.get(keyOf(server)) ?? [];
  // The server of all tests is always there.
  if (server.url === inject("clickhouse").url) return waiting.pop();
  for (let found = waiting.pop(); found !== undefined; found = waiting.pop()) {
    // The server may have ended, and another one use its port.
    const isThere = await found.client.command({ query: "SELECT 1" }).then(
      () => true,
      () => false,
    );
    if (isThere) return found;
    stopCaches(found.caches);
    await found.client.close();
  }
  return undefined;
}

async function makeDatabase(server: ClickHouseConnection): Promise<Unused> {
  const connection = { ...server, database: `test_${randomUUID().replaceAll("-", "")}` };
  await migrateStore(connection, MIGRATIONS);
  const client = connectStore({ ...connection, url: withoutCompiling(server.url) }, "noisefloor-tests");
  const schema = { definitions: await readDefinitions(client), changed: undefined };
  return { connection, client, schema, caller: undefined, caches: {} };
}

async function makeCaller(client: ClickHouseClient): Promise<Caller> {
  const key = await addCaller(client, "test-workspace", "unlimited", ["community_dataset"]);
  return { key, rows: (await readState(client)).access };
}

/** Tests run each query only a few times, too few for compiling its expressions. */
export function withoutCompiling(url: string): string {
  const asked = new URL(url);
  for (const what of ["expressions", "aggregate_expressions", "sort_description"]) {
    asked.searchParams.set(`ch_compile_${what}`, "0");
  }
  return asked.href;
}

/** As CLICKHOUSE_URL. */
export function urlsOf({ url, otherUrls = [] }: ClickHouseConnection): string {
  return [url, ...otherUrls].map(withoutCompiling).join(",");
}

const ACCESS_TABLES: readonly string[] = ["workspaces", "credentials"];

const stateQuery = defineQuery({
  name: "test-state",
  sql: `SELECT
      if(max(metadata_modification_time) < now() - 1,
        toString(groupBitXor(cityHash64(name, uuid, metadata_modification_time))), '') AS changed,
      (SELECT toString(groupBitXor(cityHash64(version, checksum))) FROM schema_migrations) AS migrations,
      (SELECT toString(groupBitXor(cityHash64(*))) FROM workspaces) AS workspaces,
      (SELECT toString(groupBitXor(cityHash64(*))) FROM credentials) AS keys,
      groupArrayIf(name, total_rows > 0 AND name != 'schema_migrations') AS filled
    FROM system.tables WHERE database = currentDatabase()`,
  params: z.object({}),
  row: z.object({
    changed: z.string(),
    migrations: z.string(),
    workspaces: z.string(),
    keys: z.string(),
    filled: z.array(z.string()),
  }),
});

const definitionsQuery = defineQuery({
  name: "test-definitions",
  sql: `SELECT toString(groupBitXor(cityHash64(name, replaceAll(create_table_query, currentDatabase(), '')))) AS tables,
      (SELECT toString(groupBitXor(cityHash64(version, checksum))) FROM schema_migrations FINAL) AS migrations
    FROM system.tables WHERE database = currentDatabase()`,
  params: z.object({}),
  row: z.object({ tables: z.string(), migrations: z.string() }),
});

/** It writes out every table, which takes the server longer than most tests' own queries. */
async function readDefinitions(client: ClickHouseClient): Promise<string> {
  const [row] = await run(client, definitionsQuery, {});
  return `${row?.tables} ${row?.migrations}`;
}

type State = {
  readonly changed: string | undefined;
  readonly access: string;
  readonly filled: readonly string[];
};

/** `access` changes with every row of a caller; `filled` tables have rows. For `changed` see {@link Schema}. */
async function readState(client: ClickHouseClient): Promise<State> {
  const [row] = await run(client, stateQuery, {});
  return {
    changed: row?.changed ? `${row.changed} ${row.migrations}` : undefined,
    access: `${row?.workspaces} ${row?.keys}`,
    // The server that answers knows the number of its own rows alone.
    filled:
      (await client.owners()).length === 1
        ? (row?.filled ?? [])
        : [...new Set([...(row?.filled ?? []), ...SPREAD_TABLES])],
  };
}
