import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { replaceTagRules } from "@noisefloor/clickhouse/tags/tag-rules.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { formatDate } from "@noisefloor/domain/time/window.ts";
import { type RuleFolder, readFolder } from "@noisefloor/ingest/tagging/rule-files/lint.ts";
import type { ParsedTag } from "@noisefloor/ingest/tagging/rule-files/parse-tag.ts";
import { openPrepared } from "@noisefloor/ingest/tagging/rule-files/prepared.ts";
import type { RuleFile } from "@noisefloor/ingest/tagging/rule-files/read-file.ts";
import { stringify } from "yaml";
import { PREPARED_TAGS_FILE, TAGS_DIRECTORY } from "../paths.ts";
import { toTag } from "./tag-file.ts";

/** The tags of files: the starter catalogue, and the operator's own. */
export type TagsOfFiles = {
  readonly starter: readonly Tag[];
  /** The tags of TAG_RULES_DIR; each replaces the starter tag of the same slug. */
  readonly own: readonly Tag[];
  /** All of them with their rules, later ones before earlier ones of the same slug. */
  readonly parsed: readonly ParsedTag[];
};

export const STARTER_FOLDER: RuleFolder = {
  path: TAGS_DIRECTORY,
  examples: "skipped",
  prepared: openPrepared(PREPARED_TAGS_FILE, TAGS_DIRECTORY),
};
/** The folders whose rules are used, later ones before earlier ones. */
export const ruleFolders = ({ tagRulesDirectory: own }: Pick<Settings, "tagRulesDirectory">): RuleFolder[] => [
  STARTER_FOLDER,
  ...(own === undefined ? [] : [ownFolder(own)]),
];
export const ownFolder = (path: string): RuleFolder => ({ path, examples: "checked" });

/** Tags with errors are left out: the commands that use their rules end with the errors. */
export async function readTagsOfFiles(
  { tagRulesDirectory: folder }: Pick<Settings, "tagRulesDirectory">,
  now: number,
): Promise<TagsOfFiles> {
  const starter = tagsIn(await readFolder(STARTER_FOLDER));
  const own = folder === undefined ? [] : tagsIn(await readFolder(ownFolder(folder)).catch(() => []));
  return tagsOfFiles([starter, own], now);
}

const tagsIn = (files: readonly RuleFile[]) => files.flatMap(({ tags }) => tags);

/** @param tagsByFolder of {@link ruleFolders}, in their order. */
export function tagsOfFiles(tagsByFolder: readonly (readonly ParsedTag[])[], now: number): TagsOfFiles {
  const [starter = [], own = []] = tagsByFolder;
  return { starter: toTags(starter, now), own: toTags(own, now), parsed: [...starter, ...own] };
}

function toTags(tags: readonly ParsedTag[], now: number): Tag[] {
  return tags.flatMap(({ entry }) => {
    const tag = toTag(entry, formatDate(now));
    return typeof tag === "string" ? [] : [tag];
  });
}

/** Adds the tags of all files to the catalogue. @returns how many it added or changed. */
export async function addTagsOfFiles(
  client: ClickHouseClient,
  settings: Pick<Settings, "tagRulesDirectory">,
  now: number,
): Promise<number> {
  return addTags(client, await readTagsOfFiles(settings, now), now);
}

/**
 * Adds those whose slugs and ids are not in use, and says of all tags what their rules match. The operator's own also
 * replace what the catalogue says of them, or a change of their files would never show.
 * @returns how many tags it added or changed.
 */
export async function addTags(
  client: ClickHouseClient,
  { starter, own, parsed }: TagsOfFiles,
  now: number,
): Promise<number> {
  const stored = await tagRecords.read(client);
  const byId = new Map(stored.map(({ updated_at: _updatedAt, ...tag }) => [tag.id, tag]));
  const slugs = new Set(stored.map((tag) => tag.slug));
  const ownSlugs = new Set(own.map((tag) => tag.slug));
  const written = [...own, ...starter.filter((tag) => !ownSlugs.has(tag.slug))].filter(
    (tag) => !slugs.has(tag.slug) && !byId.has(tag.id),
  );
  for (const tag of own) {
    const current = byId.get(tag.id);
    if (current === undefined || current.slug !== tag.slug) continue;
    // The day a tag was created is part of its history.
    const next = { ...tag, created_at: current.created_at };
    if (Object.entries(next).some(([member, value]) => !isSame(value, Reflect.get(current, member))))
      written.push(next);
  }
  await tagRecords.write(client, written, now);
  await replaceTagRules(client, ruleTexts(parsed), now);
  return written.length;
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Max characters of a rule's text, which pages show as a whole. */
const MAX_LENGTH = 32_768;

/** What the rule of each tag matches, by slug, as YAML. Of two with a slug the later one counts. */
function ruleTexts(tags: readonly ParsedTag[]): Map<string, string> {
  const withRules = new Map(tags.map((tag) => [tag.entry.slug, tag]));
  return new Map(
    [...withRules].flatMap(([slug, tag]) => (tag.rule === undefined ? [] : [[slug, textOf(tag)] as const])),
  );
}

/** Tags of files that have not changed stay the same objects, and need to be written only once. */
const known = new WeakMap<ParsedTag, string>();

function textOf(tag: ParsedTag): string {
  const text = known.get(tag) ?? shorten(stringify(tag.match, { lineWidth: 100 }));
  known.set(tag, text);
  return text;
}

function shorten(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const kept = text.slice(0, text.lastIndexOf("\n", MAX_LENGTH) + 1);
  return `${kept}# and ${text.length - kept.length} more characters\n`;
}
