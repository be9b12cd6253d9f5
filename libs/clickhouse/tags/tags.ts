import { type Tag, tagSchema } from "@noisefloor/domain/tags/tag.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { defineVersion } from "../records/define-records.ts";
import { replaceRows } from "../records/replace-rows.ts";

const allTags = defineQuery({
  name: "all-tags",
  sql: `SELECT toString(id) AS id, label, slug, name, category, intention, description, references, recommend_block,
      cves, toString(created_at) AS created_at, arrayMap(x -> toString(x), related) AS related,
      formatDateTime(updated_at, '%Y-%m-%dT%H:%i:%S.%f', 'UTC') AS updated_at
    FROM tags FINAL ORDER BY slug`,
  params: z.object({}),
  row: tagSchema.extend({ updated_at: z.string().transform((text) => `${text}Z`) }),
});

/** A tag as it stands in the catalogue, with the time of its last change (RFC 3339). */
export type CataloguedTag = Tag & { readonly updated_at: string };

export async function readTags(client: ClickHouseClient): Promise<CataloguedTag[]> {
  return run(client, allTags, {});
}

/** Changes whenever the catalogue does; far cheaper to ask for than the catalogue. */
export const readTagsVersion = defineVersion("tags-version", "tags");

/** Adds tags, replacing those with the same id. */
export async function writeTags(client: ClickHouseClient, tags: readonly Tag[], now: number): Promise<void> {
  await replaceRows(client, { table: "tags", idColumn: "id", rows: tags }, now);
}

/** Takes tags out of the catalogue. Observations that carry them keep their ids. */
export async function deleteTags(client: ClickHouseClient, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await client.command({ query: "DELETE FROM tags WHERE id IN {ids:Array(UUID)}", query_params: { ids: [...ids] } });
}
