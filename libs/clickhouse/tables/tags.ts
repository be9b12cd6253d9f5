import type { ClickHouseClient } from "@clickhouse/client";
import { type Tag, tagSchema } from "@noisefloor/domain/tag.ts";
import { z } from "zod";
import { defineQuery, run, toDateTime64 } from "../query.ts";

const allTags = defineQuery({
  name: "all-tags",
  sql: `SELECT toString(id) AS id, label, slug, name, category, intention, description, references, recommend_block,
      cves, toString(created_at) AS created_at, arrayMap(x -> toString(x), related) AS related,
      formatDateTime(updated_at, '%Y-%m-%dT%H:%i:%S.%f', 'UTC') AS updated_at
    FROM tags FINAL ORDER BY slug`,
  params: z.object({}),
  row: tagSchema.extend({ updated_at: z.string().transform((text) => `${text}Z`) }),
});

const tagsVersion = defineQuery({
  name: "tags-version",
  sql: "SELECT count() AS rows, toUnixTimestamp64Milli(max(updated_at)) AS updated_at FROM tags",
  params: z.object({}),
  row: z.object({ rows: z.int(), updated_at: z.int() }),
});

/** A tag as it stands in the catalogue, with the time of its last change (RFC 3339). */
export type CataloguedTag = Tag & { readonly updated_at: string };

export async function readTags(client: ClickHouseClient): Promise<CataloguedTag[]> {
  return run(client, allTags, {});
}

/** Changes whenever the catalogue does; far cheaper to ask for than the catalogue. */
export async function readTagsVersion(client: ClickHouseClient): Promise<string> {
  const [row] = await run(client, tagsVersion, {});
  return row === undefined ? "" : `${row.rows}/${row.updated_at}`;
}

/** Adds tags, replacing those with the same id. */
export async function writeTags(client: ClickHouseClient, tags: readonly Tag[], now: number): Promise<void> {
  if (tags.length === 0) return;
  const updated_at = toDateTime64(now);
  await client.insert({
    table: "tags",
    values: tags.map((tag) => ({ ...tag, updated_at })),
    format: "JSONEachRow",
  });
}

/** Takes tags out of the catalogue. Observations that carry them keep their ids. */
export async function deleteTags(client: ClickHouseClient, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await client.command({ query: "DELETE FROM tags WHERE id IN {ids:Array(UUID)}", query_params: { ids: [...ids] } });
}
