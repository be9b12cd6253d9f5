import { readFile } from "node:fs/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readTags, writeTags } from "@noisefloor/clickhouse/tables/tags.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { formatDate } from "@noisefloor/domain/time/window.ts";
import { STARTER_TAGS_FILE } from "../paths.ts";
import { readTagFile } from "./tag-file.ts";

/** The starter catalogue. @param now becomes the date of a tag that has none. */
export async function readStarterTags(now: number): Promise<Tag[]> {
  return readTagFile(await readFile(STARTER_TAGS_FILE, "utf8"), formatDate(now)).tags;
}

/** Adds the tags of the starter catalogue whose slugs and ids are not in use. @returns how many it added. */
export async function addStarterTags(client: ClickHouseClient, now: number): Promise<number> {
  const tags = await readStarterTags(now);
  const known = await readTags(client);
  const slugs = new Set(known.map((tag) => tag.slug));
  const ids = new Set(known.map((tag) => tag.id));
  const missing = tags.filter((tag) => !slugs.has(tag.slug) && !ids.has(tag.id));
  await writeTags(client, missing, now);
  return missing.length;
}
