import { literal } from "../client/sql-text.ts";
import { DASHBOARD_GRANTS, SCOPED_TABLES } from "../schema/tables.ts";

/** The rights of the user for dashboards, as GRANT statements. */
export function dashboardGrants(database: string): string[] {
  return DASHBOARD_GRANTS.map(
    ({ table, columns }) =>
      `GRANT SELECT${columns.length === 0 ? "" : `(${columns.join(", ")})`} ON ${database}.${table}`,
  );
}

/**
 * Which rows of a table it may read: those of no workspace, which are all but personal ones, and those of some
 * workspaces. This holds through views, too, as they read with the asking user's rights. docker-compose.yml has the
 * same condition.
 */
export function dashboardRowPolicies(
  workspaces: readonly string[],
): { readonly table: string; readonly filter: string }[] {
  const filter = `workspace_id = '' OR has(splitByChar(',', ${literal(workspaces.join(","))}), workspace_id)`;
  return SCOPED_TABLES.map((table) => ({ table, filter }));
}
