import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ACTIVITY_HOURLY } from "@noisefloor/clickhouse/client/table-names.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { type Tag, tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import { z } from "zod";
import type { RejectedEntry } from "./tag-file.ts";

export type TagImport = {
  readonly added: number;
  readonly changed: number;
  /** Slugs whose tag was, until now, the one of the starter catalogue. */
  readonly replaced: readonly string[];
  readonly unchanged: number;
  readonly rejected: readonly RejectedEntry[];
};

const tagsInUse = defineQuery({
  name: "tags-in-use",
  sql: `SELECT DISTINCT toString(tag_id) AS id FROM ${TAG_ACTIVITY_HOURLY} WHERE tag_id IN {ids:Array(UUID)}`,
  params: z.object({ ids: z.array(z.string()) }),
  row: z.object({ id: z.string() }),
});

/** Which of these tags an observation carries. */
export async function readTagsInUse(client: ClickHouseClient, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await run(client, tagsInUse, { ids: [...ids] })).map((row) => row.id));
}

/**
 * Adds tags to the catalogue. A tag with a known id replaces the stored one. A slug belongs to one tag only; an
 * imported tag takes it from a starter tag as long as no observation carries that one.
 * @param starter the starter catalogue: the result names its tags that were replaced.
 */
export async function importTags(
  client: ClickHouseClient,
  tags: readonly Tag[],
  now: number,
  starter: readonly Tag[] = [],
): Promise<TagImport> {
  const stored = await tagRecords.read(client);
  const bySlug = new Map(stored.map((tag) => [tag.slug, tag]));
  const slugOwners = tags.flatMap((tag) => {
    const owner = bySlug.get(tag.slug);
    return owner !== undefined && owner.id !== tag.id ? [owner.id] : [];
  });
  const { written, deleted, ...result } = planImport(tags, {
    byId: new Map(stored.map(({ updated_at: _updatedAt, ...tag }) => [tag.id, tag])),
    bySlug,
    inUse: await readTagsInUse(client, slugOwners),
    starterById: new Map(starter.map((tag) => [tag.id, tag])),
  });
  const byIds = deleted.map((id) => ({ id }));
  await tagRecords.delete(client, byIds, now);
  await tagRecords.write(client, written, now);
  return result;
}

type Catalogue = {
  readonly byId: ReadonlyMap<string, Tag>;
  readonly bySlug: ReadonlyMap<string, Tag>;
  /** Ids of tags that observations carry. */
  readonly inUse: ReadonlySet<string>;
  readonly starterById: ReadonlyMap<string, Tag>;
};

function planImport(tags: readonly Tag[], { byId, bySlug, inUse, starterById }: Catalogue) {
  const written: Tag[] = [];
  const deleted: string[] = [];
  const replaced: string[] = [];
  const rejected: RejectedEntry[] = [];
  let added = 0;
  let changed = 0;
  for (const tag of tags) {
    const owner = bySlug.get(tag.slug);
    const current = byId.get(tag.id);
    const isSlugTaken = owner !== undefined && owner.id !== tag.id;
    if (isSlugTaken && (owner.id !== tagIdFromSlug(owner.slug) || inUse.has(owner.id))) {
      rejected.push({ entry: tag.slug, reason: `the slug belongs to the tag ${owner.id}` });
      continue;
    }
    if (isSlugTaken) deleted.push(owner.id);
    // The day a tag was created is part of its history: importing it again does not change it.
    const next = current === undefined ? tag : { ...tag, created_at: current.created_at };
    const isChanged = current === undefined || !isSame(current, next);
    const isStarter = isChanged && current !== undefined && isUnchangedStarter(current, starterById.get(tag.id));
    if (isSlugTaken || isStarter) replaced.push(tag.slug);
    if (!isChanged) continue;
    written.push(next);
    if (current === undefined && !isSlugTaken) added++;
    if (current !== undefined && !isStarter) changed++;
  }
  const unchanged = tags.length - rejected.length - written.length;
  return { written, deleted, added, changed, replaced, unchanged, rejected };
}

function isUnchangedStarter(current: Tag, starter: Tag | undefined): boolean {
  return starter !== undefined && isSame({ ...starter, created_at: current.created_at }, current);
}

function isSame(a: Tag, b: Tag): boolean {
  const fields = (tag: Tag) => JSON.stringify(Object.entries(tag).sort(([one], [other]) => (one < other ? -1 : 1)));
  return fields(a) === fields(b);
}
