import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { deleteTags, readTags, writeTags } from "@noisefloor/clickhouse/tables/tags.ts";
import { type Tag, tagIdFromSlug } from "@noisefloor/domain/tag.ts";
import { z } from "zod";
import type { RefusedEntry } from "./tag-file.ts";

export type TagImport = {
  readonly added: number;
  readonly changed: number;
  /** Slugs whose tag was, until now, the one of the starter catalogue. */
  readonly replaced: readonly string[];
  readonly unchanged: number;
  readonly refused: readonly RefusedEntry[];
};

const tagsInUse = defineQuery({
  name: "tags-in-use",
  sql: "SELECT DISTINCT toString(tag_id) AS id FROM tag_activity_hourly WHERE tag_id IN {ids:Array(UUID)}",
  params: z.object({ ids: z.array(z.string()) }),
  row: z.object({ id: z.string() }),
});

/** Which of these tags an observation carries. */
export async function readTagsInUse(client: ClickHouseClient, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await run(client, tagsInUse, { ids: [...ids] })).map((row) => row.id));
}

/**
 * Brings tags into the catalogue: new ones are added, those with a known id are replaced. A slug means one tag only;
 * a tag that takes the slug of one of ours gets it as long as no observation carries ours.
 * @param starter the starter catalogue: who imports over one of its tags is told so.
 */
export async function importTags(
  client: ClickHouseClient,
  tags: readonly Tag[],
  now: number,
  starter: readonly Tag[] = [],
): Promise<TagImport> {
  const known = await readTags(client);
  const byId = new Map(known.map(({ updated_at: _updatedAt, ...tag }) => [tag.id, tag]));
  const bySlug = new Map(known.map((tag) => [tag.slug, tag]));
  const rivals = tags.flatMap((tag) => {
    const holder = bySlug.get(tag.slug);
    return holder !== undefined && holder.id !== tag.id ? [holder.id] : [];
  });
  const inUse = await readTagsInUse(client, rivals);
  const starterById = new Map(starter.map((tag) => [tag.id, tag]));

  const write: Tag[] = [];
  const gone: string[] = [];
  const replaced: string[] = [];
  const refused: RefusedEntry[] = [];
  let added = 0;
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
      gone.push(holder.id);
      replaced.push(tag.slug);
    }
    // The day a tag was made is part of its history: importing it again does not change it.
    const next = current === undefined ? tag : { ...tag, created_at: current.created_at };
    if (current !== undefined && isSame(current, next)) unchanged++;
    else {
      const ours = starterById.get(tag.id);
      const isOurs =
        ours !== undefined && current !== undefined && isSame({ ...ours, created_at: current.created_at }, current);
      if (isOurs) replaced.push(tag.slug);
      else if (current !== undefined) changed++;
      else if (!replaced.includes(tag.slug)) added++;
      write.push(next);
    }
  }
  await deleteTags(client, gone);
  await writeTags(client, write, now);
  return { added, changed, replaced, unchanged, refused };
}

function isSame(a: Tag, b: Tag): boolean {
  const fields = (tag: Tag) => JSON.stringify(Object.entries(tag).sort(([one], [other]) => (one < other ? -1 : 1)));
  return fields(a) === fields(b);
}
