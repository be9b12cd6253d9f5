import { DASHBOARD_VIEWS } from "../schema/dashboard-views.ts";
import { SHARED_TABLES } from "../schema/tables.ts";

/**
 * The rights of the user for dashboards, as GRANT statements. It has none on a table with rows of workspaces: the
 * engine has ways to read a table's keys that no row policy covers.
 */
export function dashboardGrants(database: string): string[] {
  return [...SHARED_TABLES, ...DASHBOARD_VIEWS].map((name) => `GRANT SELECT ON ${database}.${name}`);
}
