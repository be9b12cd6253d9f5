import { type ClickHouseClient, createClient } from "@clickhouse/client";

export type { ClickHouseClient } from "@clickhouse/client";

/** Where a ClickHouse server is and as whom to talk to it. */
export type ClickHouseConnection = {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly database: string;
};

/** Nearly every answer fits. The server takes only as much of it as an answer needs. */
const RESPONSE_BUFFER_BYTES = 16 * 1024 * 1024;

/** For statements that take as long as there are data: long enough for any store, and still an end. */
export const PATIENT_MS = 24 * 3_600_000;

/**
 * A client over HTTP. Inserts wait until the server has written the rows and its materialized views; parameters too
 * long for a URL travel in the request's body.
 */
export function connect(
  connection: ClickHouseConnection,
  application: string,
  requestTimeoutMs = 120_000,
): ClickHouseClient {
  return createClient({
    ...connection,
    application,
    request_timeout: requestTimeoutMs,
    use_multipart_params_auto: true,
    clickhouse_settings: {
      // An async insert answers before the rows can be read: "stored" would not mean stored.
      async_insert: 0,
      // An error while the answer is still in the server's memory arrives as an error, later as a broken body. Not
      // wait_end_of_query: that buffers on the server's disk, and where it is full answers 200 with an empty body.
      http_response_buffer_size: String(RESPONSE_BUFFER_BYTES),
      // Backfilled data may fall on any number of weeks; the server's default refuses inserts into more than 100.
      max_partitions_per_insert_block: "0",
      // Queries tell a missing row of a left join by the type's default.
      join_use_nulls: 0,
      // The client would otherwise read counts as strings.
      output_format_json_quote_64bit_integers: 0,
    },
    // The client's own log writes whole queries and stacks to the console; our callers log what matters.
    log: { level: 127 },
  });
}

/** Does a server answer there, and does it take these credentials? @returns undefined if so, else why not. */
export async function refusal(connection: ClickHouseConnection): Promise<Error | undefined> {
  const client = connect({ ...connection, database: "default" }, "noisefloor-probe");
  try {
    const result = await client.ping({ select: true });
    return result.success ? undefined : result.error;
  } finally {
    await client.close();
  }
}

export async function answers(connection: ClickHouseConnection): Promise<boolean> {
  return (await refusal(connection)) === undefined;
}
