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

/** The store's part of a service's readiness, by name; each check rejects while it fails. */
export function storeChecks(client: ClickHouseClient, migrations: readonly Migration[]) {
  return {
    clickhouse: async () => void (await run(client, anything, {})),
    migrations: () => assertCurrentSchema(client, migrations),
  };
}
