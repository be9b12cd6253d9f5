import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { assertCurrentSchema, type Migration } from "./migrate.ts";

const anything = defineQuery({
  name: "anything",
  sql: "SELECT 1 AS one",
  params: z.object({}),
  row: z.object({ one: z.literal(1) }),
});

/** What a service asks of its store before it calls itself ready, by name; each rejects while it is not so. */
export function storeChecks(client: ClickHouseClient, migrations: readonly Migration[]) {
  return {
    clickhouse: async () => void (await run(client, anything, {})),
    migrations: () => assertCurrentSchema(client, migrations),
  };
}
