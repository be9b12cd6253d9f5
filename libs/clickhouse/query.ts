import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";

/** One read: its SQL, what it takes and what a row of its answer is, side by side. Values are bound, never spliced. */
export type QueryDefinition<Params extends z.ZodType, Row extends z.ZodType> = {
  readonly name: string;
  readonly sql: string;
  readonly params: Params;
  readonly row: Row;
};

export function defineQuery<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  definition: QueryDefinition<Params, Row>,
): QueryDefinition<Params, Row> {
  return definition;
}

/**
 * Runs a query and checks each row against its definition. Rejects with the client's error when the server refuses,
 * and with a ZodError when an answer is not what the definition says: both are ours to mend, never a caller's fault.
 */
export async function run<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
): Promise<z.output<Row>[]> {
  const result = await client.query({
    query: definition.sql,
    query_params: definition.params.parse(params),
    format: "JSONEachRow",
    clickhouse_settings: { log_comment: definition.name },
  });
  return z.array(definition.row).parse(await result.json());
}

/** `YYYY-MM-DD hh:mm:ss.sss` in UTC: the spelling that every ClickHouse reads as DateTime64(3), whatever its settings. */
export function toDateTime64(time: number): string {
  return new Date(time).toISOString().replace("T", " ").slice(0, 23);
}
