import type { ClickHouseClient as HttpClient } from "@clickhouse/client";
import { formatTable, identifier, type TablePlace } from "./sql-text.ts";
import type { Databases } from "./table-names.ts";

/** What a query reads, and how its answer adds up when the rows are on several servers. */
export type QuerySql = {
  readonly sql: string;
  /** For several servers alone, as the next one: see `QueryDefinition`. */
  readonly combine?: ((results: string) => string) | undefined;
  readonly perServer?: string | undefined;
};

/** The requests of the HTTP client that we use. */
export type Requests = Pick<HttpClient, "query" | "exec" | "command" | "insert" | "ping" | "close">;

/**
 * A client of a store: of one server (`connect`), or of several that answer as one. What differs between these two is
 * here, so that nothing else has to know which one it works on.
 * - `query` and `exec` read all rows of the store;
 * - `insert` sends rows to where they belong, and to every server those of tables that each server has whole;
 * - `command` runs on every server. One that fails may have run on some: every command of ours can be repeated.
 */
export type ClickHouseClient = Requests & {
  /** What the client sends for a query: see {@link QuerySql}. */
  requestOf(query: QuerySql): { readonly query: string; readonly query_params: Databases };
  /** Runs an INSERT … SELECT once, for the whole store. */
  insertSelect: Requests["command"];
  /**
   * Clients that each have all rows of the addresses that they have, for what has to be done where the rows are: this
   * client, if the store is one server.
   */
  owners(): Promise<readonly ClickHouseClient[]>;
  /** Which of them has an address (an unsigned 32-bit integer), by its index. */
  ownerOf(): Promise<(address: number) => number>;
  /**
   * Makes an empty table like one of the store. Of an owner, as the next two.
   * @param place of the new table.
   */
  createAlike(table: string, place: TablePlace): Promise<void>;
  /** Resolves when each server of an owner has all rows of these tables that another one of it has. */
  sync(tables: readonly string[]): Promise<void>;
  /**
   * Resolves when each server of an owner that may be asked has made the changes of rows which are known for a table.
   * @throws StoreTimeoutError when one does not do it in time.
   */
  settle(table: string): Promise<void>;
  /** Each server by itself, for what each has to know; those of one owner together, which have the same rows. */
  servers(): Promise<readonly (readonly ClickHouseClient[])[]>;
};

/** A client of one server, which makes these requests in a database. */
export function serverClient(requests: Requests, database: string): ClickHouseClient {
  const databases = { rows_database: database, own_database: database };
  const client: ClickHouseClient = {
    ...bindingDatabases(requests, databases),
    requestOf: ({ sql }) => ({ query: sql, query_params: databases }),
    insertSelect: (params) => client.command(params),
    owners: async () => [client],
    ownerOf: async () => () => 0,
    createAlike: async (table, place) => {
      await client.command({ query: `CREATE TABLE ${formatTable(place)} AS ${identifier(table)}` });
    },
    sync: async () => {},
    settle: async () => {},
    servers: async () => [[client]],
  };
  return client;
}

/** The same requests, whose SQL may name tables as `table-names.ts` does. */
export function bindingDatabases(requests: Requests, databases: Databases): Requests {
  const bind = <P extends { readonly query_params?: Record<string, unknown> }>(params: P) => ({
    ...params,
    query_params: { ...databases, ...params.query_params },
  });
  return {
    query: (params) => requests.query(bind(params)),
    exec: (params) => requests.exec(bind(params)),
    command: (params) => requests.command(bind(params)),
    insert: (params) => requests.insert(params),
    ping: (params) => requests.ping(params),
    close: () => requests.close(),
  };
}
