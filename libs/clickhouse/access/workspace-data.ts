import { formatRight } from "@noisefloor/domain/access/publishing.ts";
import { feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import { readyMadeNames } from "@noisefloor/domain/feeds/ready-made-names.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { mutate } from "../mutations/mutate.ts";
import { AGEING_TABLES, TRANSIENT_TABLES } from "../schema/tables.ts";

const scopedTables = defineQuery({
  name: "scoped-tables",
  sql: `SELECT table AS scoped FROM system.columns
    WHERE database = currentDatabase() AND name IN ('dataset', 'workspace_id') AND table IN {tables:Array(String)}
    GROUP BY table HAVING count() = 2 ORDER BY scoped = 'observations', scoped`,
  params: z.object({ tables: z.array(z.string()) }),
  row: z.object({ scoped: z.string() }),
});

const IS_PERSONAL = "dataset = 'personal' AND workspace_id = {workspaceId:String}";

const personalObservations = defineQuery({
  name: "personal-observations",
  sql: `SELECT count() AS observations FROM ${OBSERVATIONS} FINAL WHERE ${IS_PERSONAL}`,
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
  const tables = [...TRANSIENT_TABLES, ...AGEING_TABLES.map(({ name }) => name)];
  for (const { scoped } of await run(client, scopedTables, { tables })) {
    await mutate(client, { table: scoped, change: `DELETE WHERE ${IS_PERSONAL}`, params });
  }
}

const madeForOthers = defineQuery({
  name: "feeds-and-tokens-of-workspace",
  sql: `SELECT
      groupUniqArrayArray(feeds) AS feedIds, groupUniqArrayArray(tokens) AS tokenIds,
      (SELECT groupUniqArray(slug) FROM tags) AS slugs
    FROM (
      SELECT [toString(feed_id)] AS feeds, CAST([], 'Array(String)') AS tokens FROM feeds
      WHERE workspace_id = {workspaceId:String}
      UNION ALL SELECT [subject], [id] FROM credentials WHERE kind = 'feed' AND workspace_id = {workspaceId:String})`,
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ feedIds: z.array(z.string()), tokenIds: z.array(z.string()), slugs: z.array(z.string()) }),
});

/**
 * Deletes a workspace itself and what it has made for others to read, which another one with its id must not find: its
 * feeds, with what these have told, their tokens, and its watches with their events. Its keys and its sensors' keys stay
 * as they are.
 */
export async function deleteWorkspace(client: ClickHouseClient, workspaceId: string): Promise<void> {
  const { feedIds, tokenIds, slugs } = await runForOne(client, madeForOthers, { workspaceId });
  // No row says whose ready-made feeds are, but their ids are made of workspace and name.
  const readyMade = readyMadeNames(slugs).map((name) => feedIdOf(workspaceId, name));
  const ofFeeds = { change: "DELETE WHERE feed_id IN {ids:Array(UUID)}", params: { ids: [...feedIds, ...readyMade] } };
  const ofTokens = { change: "DELETE WHERE token_id IN {ids:Array(String)}", params: { ids: tokenIds } };
  const ofWorkspace = { change: "DELETE WHERE workspace_id = {workspaceId:String}", params: { workspaceId } };
  // What names feeds and tokens goes before these: an interrupted deletion is done again.
  await mutate(client, { table: "feed_refreshes", ...ofFeeds });
  await mutate(client, { table: "feed_streams", ...ofTokens });
  await mutate(client, { table: "feed_token_uses", ...ofTokens });
  await mutate(client, { table: "credentials", ...ofWorkspace, change: `${ofWorkspace.change} AND kind = 'feed'` });
  await mutate(client, { table: "feeds", ...ofWorkspace });
  await mutate(client, { table: "guard_networks", ...ofWorkspace });
  await mutate(client, { table: "known_callback_hosts", ...ofWorkspace });
  await deleteWatches(client, ofWorkspace);
  await mutate(client, { table: "workspaces", ...ofWorkspace });
}

const ownWatches = defineQuery({
  name: "watches-of-workspace",
  sql: "SELECT groupUniqArray(toString(watch_id)) AS ids FROM watches WHERE workspace_id = {workspaceId:String}",
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ ids: z.array(z.string()) }),
});

/** A look has events of several workspaces: those of the others stay. */
async function deleteWatches(
  client: ClickHouseClient,
  ofWorkspace: { readonly change: string; readonly params: { readonly workspaceId: string } },
): Promise<void> {
  const { ids } = await runForOne(client, ownWatches, ofWorkspace.params);
  const ofWatches = { change: "DELETE WHERE watch_id IN {ids:Array(UUID)}", params: { ids } };
  const kept = EVENT_COLUMNS.map(
    (column) => `${column} = arrayFilter((each, owner) -> owner != {workspaceId:String}, ${column}, workspace_ids)`,
  );
  const change = `UPDATE ${kept.join(", ")} WHERE has(workspace_ids, {workspaceId:String})`;
  await mutate(client, { table: "watch_log", change, params: ofWorkspace.params });
  await mutate(client, { table: "watch_deliveries", ...ofWatches });
  await mutate(client, { table: "watch_known", ...ofWatches });
  await mutate(client, { table: "watches", ...ofWorkspace });
}

/** The columns of the log with a value for each event. */
const EVENT_COLUMNS = ["event_ids", "workspace_ids", "watch_ids", "bodies", "subjects", "subject_times"] as const;
