import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readMigrations, tablesOf, viewsOf } from "./migrate.ts";
import { AGEING_TABLES, DASHBOARD_TABLES, DERIVED_TABLES, KEY_TABLES, TABLES, TRANSIENT_TABLES } from "./tables.ts";

const infra = (path: string) => fileURLToPath(new URL(`../../../infra/clickhouse/${path}`, import.meta.url));
const migrations = await readMigrations(infra("migrations"));

test("the registry has every table that the migrations make, and no other", () => {
  expect(Object.keys(TABLES).sort()).toEqual(["schema_migrations", ...tablesOf(migrations)].sort());
});

test("every derived table is filled by the view of its name, and every view fills one", () => {
  const filled = [...DERIVED_TABLES, ...TRANSIENT_TABLES];
  expect(viewsOf(migrations).sort()).toEqual(filled.map((name) => `${name}_mv`).sort());
  for (const name of DERIVED_TABLES) {
    const view = migrations.find(({ sql }) => sql.includes(`EXISTS ${name}_mv `))?.sql;
    expect(view).toContain(`TO ${name} AS`);
    expect(view, "a restore rebuilds it from the observations alone").toMatch(/\nFROM observations\n/);
  }
});

test("every table with a TTL is an ageing one, or transient", () => {
  const withTtl = migrations.filter(({ sql }) => /\bTTL\b/.test(sql.replace(/^--.*$/gm, "")));
  const names = withTtl.map(({ sql }) => /^(?:CREATE TABLE IF NOT EXISTS|ALTER TABLE) (\w+)/m.exec(sql)?.[1]);
  expect([...new Set(names)].sort()).toEqual([...AGEING_TABLES.map(({ name }) => name), ...TRANSIENT_TABLES].sort());
  expect(AGEING_TABLES.at(-1)?.name, "shows the current retention").toBe("observations");
});

test("every table of keys has what a restore needs to keep them revoked", () => {
  for (const table of KEY_TABLES) {
    const made = migrations.find(({ sql }) => sql.includes(`EXISTS ${table}\n`))?.sql;
    for (const column of ["key_id", "is_revoked", "updated_at"])
      expect(made, table).toMatch(new RegExp(`\\b${column} `));
  }
  expect(DASHBOARD_TABLES).not.toEqual(expect.arrayContaining([...KEY_TABLES]));
});

test("the container's dashboards may read the same tables as the embedded server's", async () => {
  const users = await readFile(infra("config/users.xml"), "utf8");
  const grafana = users.slice(users.indexOf("<grafana>"));
  const granted = [...grafana.matchAll(/GRANT SELECT ON noisefloor\.(\w+)/g)].map(([, table]) => table);
  expect(granted.sort()).toEqual([...DASHBOARD_TABLES].sort());
});
