import { formatRight } from "@noisefloor/domain/access/publishing.ts";
import { z } from "zod";
import { mutate } from "../changes/mutate.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { AGEING_TABLES } from "../schema/tables.ts";

const scopedTables = defineQuery({
  name: "scoped-tables",
  sql: `SELECT table AS scoped FROM system.columns
    WHERE database = currentDatabase() AND name IN ('dataset', 'workspace_id') AND table IN {tables:Array(String)}
    GROUP BY table HAVING count() = 2 ORDER BY scoped = 'observations', scoped`,
  params: z.object({ tables: z.array(z.string()) }),
  row: z.object({ scoped: z.string() }),
});

const OWN = "dataset = 'personal' AND workspace_id = {workspaceId:String}";

const personalObservations = defineQuery({
  name: "personal-observations",
  sql: `SELECT count() AS observations FROM ${OBSERVATIONS} FINAL WHERE ${OWN}`,
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ observations: z.int() }),
});

/** How many observations of the personal dataset belong to a workspace. */
export async function countPersonalObservations(client: ClickHouseClient, workspaceId: string): Promise<number> {
  return (await runForOne(client, personalObservations, { workspaceId })).observations;
}

/**
 * Deletes a workspace's personal observations, what is derived from them, and its sensors' dead letters and counts.
 * The observations go last: an interrupted deletion is seen by them, and done again.
 */
export async function deletePersonalData(client: ClickHouseClient, workspaceId: string): Promise<void> {
  await mutate(client, {
    table: "dead_letters",
    change: "DELETE WHERE publish_right = {right:String}",
    params: { right: formatRight({ dataset: "personal", workspaceId }) },
  });
  const params = { workspaceId };
  await mutate(client, {
    table: "sensor_activity",
    change: "DELETE WHERE workspace_id = {workspaceId:String}",
    params,
  });
  for (const { scoped } of await run(client, scopedTables, { tables: AGEING_TABLES.map((table) => table.name) })) {
    await mutate(client, { table: scoped, change: `DELETE WHERE ${OWN}`, params });
  }
}

/** What a workspace has made for others to read: another one with its id must not find it. */
const FEED_TABLES = ["feed_tokens", "feeds", "guard_networks"];

/** What feeds and their tokens have told: tables without a workspace, by the ids of what wrote them. */
const TOLD_TABLES = [
  { table: "feed_objects", idColumn: "feed_id", type: "UUID", owners: "feeds" },
  { table: "feed_refreshes", idColumn: "feed_id", type: "UUID", owners: "feeds" },
  { table: "feed_streams", idColumn: "token_id", type: "String", owners: "feed_tokens" },
] as const;

const ownedFeeds = defineQuery({
  name: "owned-feeds",
  sql: "SELECT DISTINCT toString(feed_id) AS id FROM feeds WHERE workspace_id = {workspaceId:String}",
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ id: z.string() }),
});
const ownedTokens = defineQuery({
  name: "owned-feed-tokens",
  sql: "SELECT DISTINCT key_id AS id FROM feed_tokens WHERE workspace_id = {workspaceId:String}",
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ id: z.string() }),
});

/** Deletes a workspace itself and its feeds, with what these have told; its keys stay as they are. */
export async function deleteWorkspace(client: ClickHouseClient, workspaceId: string): Promise<void> {
  // Before the feeds, which name them: an interrupted deletion is done again.
  for (const { table, idColumn, type, owners } of TOLD_TABLES) {
    const owned = await run(client, owners === "feeds" ? ownedFeeds : ownedTokens, { workspaceId });
    if (owned.length === 0) continue;
    const ids = owned.map(({ id }) => id);
    await mutate(client, { table, change: `DELETE WHERE ${idColumn} IN {ids:Array(${type})}`, params: { ids } });
  }
  for (const table of FEED_TABLES) {
    await mutate(client, {
      table,
      change: "DELETE WHERE workspace_id = {workspaceId:String}",
      params: { workspaceId },
    });
  }
  await mutate(client, {
    table: "workspaces",
    change: "DELETE WHERE workspace_id = {workspaceId:String}",
    params: { workspaceId },
  });
}
