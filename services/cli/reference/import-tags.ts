import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/query.ts";
import { deleteTags, readTags, writeTags } from "@noisefloor/clickhouse/tables/tags.ts";
import { type Tag, tagIdFromSlug } from "@noisefloor/domain/tag.ts";
import { z } from "zod";
import type { RefusedEntry } from "./tag-file.ts";

export type TagImport = {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: readonly RefusedEntry[];
};

const tagsInUse = defineQuery({
  name: "tags-in-use",
  sql: "SELECT DISTINCT toString(tag_id) AS id FROM tag_activity_hourly WHERE tag_id IN {ids:Array(UUID)}",
  params: z.object({ ids: z.array(z.string()) }),
  row: z.object({ id: z.string() }),
});

/**
 * Brings tags into the catalogue: new ones are added, those with a known id are replaced. A slug means one tag only;
 * a tag that takes the slug of one of ours gets it as long as no observation carries ours.
 */
export async function importTags(client: ClickHouseClient, tags: readonly Tag[], now: number): Promise<TagImport> {
  const known = await readTags(client);
  const byId = new Map(known.map(({ updated_at: _updatedAt, ...tag }) => [tag.id, tag]));
  const bySlug = new Map(known.map((tag) => [tag.slug, tag]));
  const rivals = tags.flatMap((tag) => {
    const holder = bySlug.get(tag.slug);
    return holder !== undefined && holder.id !== tag.id ? [holder.id] : [];
  });
  const inUse = new Set(
    rivals.length === 0 ? [] : (await run(client, tagsInUse, { ids: rivals })).map((row) => row.id),
  );

  const write: Tag[] = [];
  const replaced: string[] = [];
  const refused: RefusedEntry[] = [];
  let changed = 0;
  let unchanged = 0;
  for (const tag of tags) {
    const holder = bySlug.get(tag.slug);
    const current = byId.get(tag.id);
    if (holder !== undefined && holder.id !== tag.id) {
      const isUnusedStarter = holder.id === tagIdFromSlug(holder.slug) && !inUse.has(holder.id);
      if (!isUnusedStarter) {
        refused.push({ entry: tag.slug, reason: `the slug belongs to the tag ${holder.id}` });
        continue;
      }
      replaced.push(holder.id);
    }
    // The day a tag was made is part of its history: importing it again does not change it.
    const next = current === undefined ? tag : { ...tag, created_at: current.created_at };
    if (current !== undefined && isSame(current, next)) unchanged++;
    else {
      if (current !== undefined) changed++;
      write.push(next);
    }
  }
  await deleteTags(client, replaced);
  await writeTags(client, write, now);
  return { added: write.length - changed, changed, unchanged, refused };
}

function isSame(a: Tag, b: Tag): boolean {
  const fields = (tag: Tag) => JSON.stringify(Object.entries(tag).sort(([one], [other]) => (one < other ? -1 : 1)));
  return fields(a) === fields(b);
}
