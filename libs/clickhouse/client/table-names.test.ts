import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { SPREAD_TABLES, TABLES } from "../schema/tables.ts";
import * as names from "./table-names.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** Statements that run on one server, in its own database. */
const ON_ONE_SERVER = ["libs/clickhouse/schema/dashboard-views.ts"];

test("every table whose rows a cluster spreads over its servers has a name in SQL", () => {
  const named = Object.values(names).filter((name) => typeof name === "string");
  for (const table of SPREAD_TABLES) expect(named).toContain(`{rows_database:Identifier}.${table}`);
  for (const name of named) {
    const [, database, table] = /^\{(\w+):Identifier\}\.(\w+)$/.exec(name) ?? [];
    if (table === undefined) continue;
    expect(TABLES, name).toHaveProperty(table);
    expect(database, name).toBe(SPREAD_TABLES.includes(table) ? "rows_database" : "own_database");
  }
});

test("no query reads or fills such a table by its bare name, which on a cluster is one server's", async () => {
  const bare = new RegExp(`\\b(?:FROM|JOIN|INTO)\\s+(?:${SPREAD_TABLES.join("|")})\\b`);
  for (const folder of ["libs", "services"]) {
    for (const entry of await readdir(join(ROOT, folder), { recursive: true })) {
      const file = join(folder, entry);
      if (!/(?<!\.test)\.ts$/.test(file) || file.includes("node_modules") || ON_ONE_SERVER.includes(file)) continue;
      const code = (await readFile(join(ROOT, file), "utf8")).replace(/^\s*(?:\/\*\*?|\*|\/\/).*$/gm, "");
      expect(bare.exec(code)?.[0], file).toBeUndefined();
    }
  }
});
