import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { dashboardGrants } from "../embedded/dashboard-rights.ts";
import { labelOf, readMigrations, tablesOf, viewsOf } from "./migrate.ts";
import { AGEING_TABLES, DERIVED_TABLES, OWN_TTL_TABLES, SHARED_TABLES, TABLES, TRANSIENT_TABLES } from "./tables.ts";

const infra = (path: string) => fileURLToPath(new URL(`../../../infra/clickhouse/${path}`, import.meta.url));

/** The grants of the user for dashboards in a users.xml. */
async function grantsIn(path: string): Promise<string[]> {
  const users = await readFile(infra(path), "utf8");
  const grafana = users.slice(users.indexOf("<grafana>"));
  return [...grafana.matchAll(/<query>(.+)<\/query>/g)].map(([, grant = ""]) => grant).sort();
}
const migrations = await readMigrations(infra("migrations"));
const statements = migrations.flatMap((migration) => migration.statements);

test("the registry has every table that the migrations make, and no other", () => {
  expect(Object.keys(TABLES).sort()).toEqual(["schema_migrations", ...tablesOf(migrations)].sort());
});

test("no migration has changed since it was committed", async () => {
  const frozen = await readFile(infra("migrations.sha256"), "utf8");
  const lines = migrations.map((migration) => `${migration.checksum}  ${labelOf(migration)}.sql\n`);
  expect(lines.join(""), "databases have it: write a new one, and add its line to migrations.sha256").toBe(frozen);
});

test("every derived table is filled by the view of its name, and every view fills one", () => {
  // A backup has the one that is filled from the log of feeds.
  const filled = [...DERIVED_TABLES, ...TRANSIENT_TABLES, "feed_first_listed"];
  expect(viewsOf(migrations).sort()).toEqual(filled.map((name) => `${name}_mv`).sort());
  for (const name of DERIVED_TABLES) {
    const view = statements.find((sql) => sql.includes(`EXISTS ${name}_mv `));
    expect(view).toContain(`TO ${name} AS`);
    expect(view, "a restore rebuilds it from the observations alone").toMatch(/\nFROM observations\n/);
  }
});

test("every table with a TTL is an ageing one, transient, or registered with a TTL of its own", () => {
  const withTtl = statements.filter((sql) => /\bTTL\b/.test(sql.replace(/^--.*$/gm, "")));
  const names = withTtl.map((sql) => /^(?:CREATE TABLE IF NOT EXISTS|ALTER TABLE) (\w+)/m.exec(sql)?.[1]);
  const ageing = AGEING_TABLES.map(({ name }) => name);
  expect([...new Set(names)].sort()).toEqual([...ageing, ...TRANSIENT_TABLES, ...OWN_TTL_TABLES].sort());
  expect(AGEING_TABLES.at(-1)?.name, "shows the current retention").toBe("observations");
});

test("no table that dashboards may read has a column that names a workspace, a key or a sensor", () => {
  expect(SHARED_TABLES).toContain("tags");
  for (const table of SHARED_TABLES) {
    const made = statements.find((sql) => sql.includes(`EXISTS ${table}\n`));
    expect(made, table).toContain(`CREATE TABLE IF NOT EXISTS ${table}\n`);
    expect(made, table).not.toMatch(/^ +(?:workspace_id|publish_right|key_id|sensor_id) /m);
  }
});

test("the container's dashboards may read the same as the embedded server's", async () => {
  expect(await grantsIn("config/users.xml")).toEqual(dashboardGrants("noisefloor").sort());
});
