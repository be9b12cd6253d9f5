import { type ClickHouseSettings, createClient } from "@clickhouse/client";
import { type ClickHouseClient, serverClient } from "./client.ts";
import type { ClickHouseConnection } from "./connection.ts";

export type { ClickHouseSettings } from "@clickhouse/client";
export type { ClickHouseClient } from "./client.ts";
export type { ClickHouseConnection } from "./connection.ts";

/** Nearly every answer fits. The server allocates only as much of it as an answer needs. */
const RESPONSE_BUFFER_BYTES = 16 * 1024 * 1024;

/** A request timeout for statements whose time grows with the data: long enough for any store, and still an end. */
export const LONG_REQUEST_MS = 24 * 3_600_000;

/**
 * A client of one server, over HTTP. Inserts wait until the server has written the rows and its materialized views;
 * parameters too long for a URL travel in the request's body.
 * @throws RangeError for a connection to a cluster, of which it would see one server's rows.
 */
export function connect(
  { url, username, password, database, cluster }: ClickHouseConnection,
  application: string,
  requestTimeoutMs = 120_000,
  settings: ClickHouseSettings = {},
): ClickHouseClient {
  if (cluster !== undefined)
    throw new RangeError(`a client of one server does not reach all of the cluster ${cluster}`);
  const client = createClient({
    url,
    username,
    password,
    database,
    application,
    request_timeout: requestTimeoutMs,
    use_multipart_params_auto: true,
    clickhouse_settings: {
      // An async insert answers before the rows can be read: "stored" would not mean stored.
      async_insert: 0,
      // An error while the answer is still in the server's memory arrives as an error; a later one breaks the body.
      // wait_end_of_query buffers on the server's disk instead: when that is full, the server answers 200 and no body.
      http_response_buffer_size: String(RESPONSE_BUFFER_BYTES),
      // Backfilled data may fall on any number of weeks; the server's default rejects inserts into more than 100.
      max_partitions_per_insert_block: "0",
      // Queries recognise a missing row of a left join by the type's default.
      join_use_nulls: 0,
      // The client would otherwise read counts as strings.
      output_format_json_quote_64bit_integers: 0,
      ...settings,
    },
    // The client's own log writes whole queries and stacks to the console; callers log what they need.
    log: { level: 127 },
  });
  return serverClient(client, database);
}

/** @returns why the server does not answer or does not accept these credentials; undefined when it does. */
export async function connectionError(connection: ClickHouseConnection): Promise<Error | undefined> {
  const client = connect({ ...connection, database: "default", cluster: undefined }, "noisefloor-probe");
  try {
    const result = await client.ping({ select: true });
    return result.success ? undefined : result.error;
  } finally {
    await client.close();
  }
}

export async function answers(connection: ClickHouseConnection): Promise<boolean> {
  return (await connectionError(connection)) === undefined;
}
