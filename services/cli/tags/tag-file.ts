import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { slugSchema, type Tag, tagIdFromSlug, tagSchema } from "@noisefloor/domain/tags/tag.ts";
import { parse as parseYaml } from "yaml";
import { z } from "zod";

/** An entry of a file that is not imported, and why. */
export type RejectedEntry = { readonly entry: string; readonly reason: string };

/** A tag in a file: our YAML, or the wire shape of `GET /v3/tags`. What has a default here may be left out. */
const entrySchema = z.object({
  id: z.string().optional(),
  label: z.string().optional(),
  slug: slugSchema,
  name: z.string(),
  category: z.string().default("activity"),
  intention: z.enum(INTENTIONS).default("unknown"),
  description: z.string().default(""),
  references: z.array(z.string()).default([]),
  recommend_block: z.boolean().default(false),
  cves: z.array(z.string()).default([]),
  created_at: z.string().optional(),
  /** In our YAML: slugs or ids of other tags. */
  related: z.array(z.string()).default([]),
  /** In the wire shape: the same as objects. */
  related_tags: z.array(z.object({ id: z.string() })).default([]),
});

const fileSchema = z.union([
  z.array(z.unknown()),
  z.object({ tags: z.array(z.unknown()) }).transform((file) => file.tags),
  z.object({ metadata: z.array(z.unknown()) }).transform((file) => file.metadata),
]);

/**
 * Reads a file of tags, JSON or YAML.
 * @param today what a tag without `created_at` gets, `YYYY-MM-DD`.
 * @throws Error when the text as a whole is no list of tags. A single bad entry is rejected instead.
 */
export function readTagFile(text: string, today: string): { tags: Tag[]; rejected: RejectedEntry[] } {
  const file = fileSchema.safeParse(parse(text));
  if (!file.success) throw new Error("the file is no list of tags: it takes {tags: [...]}, {metadata: [...]} or [...]");
  const tags: Tag[] = [];
  const rejected: RejectedEntry[] = [];
  const idBySlug = new Map<string, string>();
  const ids = new Set<string>();
  file.data.forEach((value, index) => {
    const tag = toTag(value, today);
    if (typeof tag === "string") {
      rejected.push({ entry: nameOf(value, index), reason: tag });
    } else if (idBySlug.has(tag.slug)) {
      rejected.push({ entry: tag.slug, reason: `an entry above has the slug, with the id ${idBySlug.get(tag.slug)}` });
    } else if (ids.has(tag.id)) {
      rejected.push({ entry: tag.slug, reason: `an entry above has the id ${tag.id}` });
    } else {
      ids.add(tag.id);
      idBySlug.set(tag.slug, tag.id);
      tags.push(tag);
    }
  });
  return { tags, rejected };
}

/** A YAML parser reads JSON as well, but slowly for a large catalogue. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parseYaml(text);
  }
}

/** @returns what is wrong with an entry that is no tag. */
export function toTag(value: unknown, today: string): Tag | string {
  const entry = entrySchema.safeParse(value);
  if (!entry.success) return formatIssues(entry.error);
  const { related, related_tags, ...rest } = entry.data;
  const tag = tagSchema.safeParse({
    ...rest,
    id: rest.id ?? tagIdFromSlug(rest.slug),
    label: rest.label ?? rest.slug.toUpperCase().replaceAll(/[-.]/g, "_"),
    created_at: rest.created_at ?? today,
    related: [...related.map(toTagId), ...related_tags.map((tag) => tag.id.toLowerCase())],
  });
  return tag.success ? tag.data : formatIssues(tag.error);
}

function toTagId(reference: string): string {
  return slugSchema.safeParse(reference).success && !/^[0-9a-f-]{36}$/.test(reference)
    ? tagIdFromSlug(reference)
    : reference.toLowerCase();
}

function formatIssues(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "entry"}: ${issue.message}`).join("; ");
}

function nameOf(value: unknown, index: number): string {
  const named = z.object({ slug: z.string() }).safeParse(value);
  return named.success ? named.data.slug : `entry ${index + 1}`;
}
