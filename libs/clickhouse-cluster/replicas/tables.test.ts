import { fileURLToPath } from "node:url";
import { readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { expect, test } from "vitest";
import { replicated } from "./tables.ts";

const MIGRATIONS = fileURLToPath(new URL("../../../infra/clickhouse/migrations", import.meta.url));
const paths = new Map(SPREAD_TABLES.map((table) => [table, `/keeper/${table}`]));
const engineOf = (sql: string) => /^ENGINE = (.*)$/m.exec(sql)?.[1];

test("the statements of sharded tables make replicated ones, with the same engine and arguments", async () => {
  const engines = new Map<string, string | undefined>();
  for (const sql of (await readMigrations(MIGRATIONS)).flatMap(({ statements }) => statements)) {
    const shared = replicated(sql, paths, "db-1");
    if (shared === sql) continue;
    const table = /^CREATE TABLE IF NOT EXISTS (\w+)/m.exec(sql)?.[1] ?? "";
    engines.set(table, engineOf(shared));
    expect(shared.replace(/^ENGINE = .*$/m, ""), "nothing else changes").toBe(sql.replace(/^ENGINE = .*$/m, ""));
  }
  expect([...engines.keys()].sort()).toEqual([...SPREAD_TABLES].sort());
  expect(engines.get("observations")).toBe("ReplicatedReplacingMergeTree('/keeper/observations', 'db-1', received_at)");
  expect(engines.get("tag_addresses")).toBe("ReplicatedAggregatingMergeTree('/keeper/tag_addresses', 'db-1')");
  expect(engines.get("observation_changes")).toBe("ReplicatedMergeTree('/keeper/observation_changes', 'db-1')");
});
