import { formatRight } from "@noisefloor/domain/access/publishing.ts";
import { feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import { readyMadeNames } from "@noisefloor/domain/feeds/ready-made-names.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { mutate } from "../mutations/mutate.ts";
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

const ownedFeeds = defineQuery({
  name: "owned-feeds",
  sql: `SELECT toString(feed_id) AS id FROM feeds WHERE workspace_id = {workspaceId:String}
    UNION DISTINCT SELECT toString(feed_id) FROM feed_tokens WHERE workspace_id = {workspaceId:String}`,
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ id: z.string() }),
});
const ownedTokens = defineQuery({
  name: "owned-feed-tokens",
  sql: "SELECT DISTINCT key_id AS id FROM feed_tokens WHERE workspace_id = {workspaceId:String}",
  params: z.object({ workspaceId: z.string() }),
  row: z.object({ id: z.string() }),
});
const knownSlugs = defineQuery({
  name: "known-tag-slugs",
  sql: "SELECT DISTINCT slug FROM tags",
  params: z.object({}),
  row: z.object({ slug: z.string() }),
});

/** Ready-made feeds included: no row says whose these are, but their ids are made of workspace and name. */
async function readFeedIds(client: ClickHouseClient, workspaceId: string): Promise<string[]> {
  const made = await run(client, ownedFeeds, { workspaceId });
  const slugs = (await run(client, knownSlugs, {})).map(({ slug }) => slug);
  return [...made.map(({ id }) => id), ...readyMadeNames(slugs).map((name) => feedIdOf(workspaceId, name))];
}

/** Deletes a workspace itself and its feeds, with what these have told; its keys stay as they are. */
export async function deleteWorkspace(client: ClickHouseClient, workspaceId: string): Promise<void> {
  // Before the feeds and tokens, which name them: an interrupted deletion is done again.
  const feedIds = await readFeedIds(client, workspaceId);
  for (const table of ["feed_objects", "feed_refreshes"]) {
    await mutate(client, { table, change: "DELETE WHERE feed_id IN {ids:Array(UUID)}", params: { ids: feedIds } });
  }
  const tokenIds = (await run(client, ownedTokens, { workspaceId })).map(({ id }) => id);
  if (tokenIds.length > 0) {
    const change = "DELETE WHERE token_id IN {ids:Array(String)}";
    for (const table of ["feed_streams", "feed_token_uses"]) {
      await mutate(client, { table, change, params: { ids: tokenIds } });
    }
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
