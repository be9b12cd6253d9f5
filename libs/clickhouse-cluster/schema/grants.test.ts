import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { dashboardGrants } from "@noisefloor/clickhouse/embedded/dashboard-rights.ts";
import { COUNT_VIEWS, DASHBOARD_VIEWS } from "@noisefloor/clickhouse/schema/dashboard-views.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { expect, test } from "vitest";
import { perShardName } from "./distributed-tables.ts";

const USERS = fileURLToPath(new URL("../../../infra/cluster/clickhouse/users.xml", import.meta.url));

test("dashboards over a cluster may read the same of each shard, and the tables and views over all of them", async () => {
  const users = await readFile(USERS, "utf8");
  const grafana = users.slice(users.indexOf("<grafana>"));
  const grants = [...grafana.matchAll(/<query>(.+)<\/query>/g)].map(([, grant = ""]) => grant).sort();
  const isOverShards = (grant: string) =>
    [...SPREAD_TABLES, ...DASHBOARD_VIEWS].some((name) => grant.endsWith(`.${name}`));
  const overShards = dashboardGrants("noisefloor_cluster").filter(isOverShards);
  const parts = COUNT_VIEWS.map((view) => `GRANT SELECT ON noisefloor_cluster.${perShardName(view)}`);
  expect(grants).toEqual([...dashboardGrants("noisefloor"), ...overShards, ...parts].sort());
});
