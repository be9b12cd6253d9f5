import { v5 as uuidV5 } from "uuid";
import * as z from "zod";
import { INTENTIONS } from "./classification.ts";

/** The UUIDv5 namespace for tags whose file gives no id. */
const TAG_NAMESPACE = "7ea78d4c-2bf3-412c-b4db-3d3471a7e071";

export const slugSchema = z
  .string()
  .max(128)
  .regex(/^[a-z0-9]+(?:[-_.][a-z0-9]+)*$/, "a slug is lower case letters and digits with single - _ . between them");

/** Any version and variant, upper or lower case: catalogues from elsewhere choose their own. */
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** UTF-8 cannot encode half a surrogate pair. */
const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed(), "must be well-formed Unicode");

/** A kind of scanning. The shape of a tag in `GET /v3/tags`, but with the ids of related tags. */
export const tagSchema = z.object({
  id: z.string().regex(UUID_PATTERN, "id must be a UUID").toLowerCase(),
  label: text(200),
  slug: slugSchema,
  name: text(200).min(1),
  category: text(64).min(1),
  intention: z.enum(INTENTIONS),
  description: text(4000),
  references: z.array(text(2000)).max(100),
  recommend_block: z.boolean(),
  cves: z
    .array(
      z
        .string()
        .regex(/^CVE-\d{4}-\d{4,}$/i, "not a CVE id")
        .toUpperCase(),
    )
    .max(200),
  created_at: z.iso.date(),
  /** Ids of related tags; responses leave out those that are not in the catalogue. */
  related: z.array(z.string().regex(UUID_PATTERN, "not a tag's slug or UUID")).max(200),
});
export type Tag = z.infer<typeof tagSchema>;

/** The id of a tag whose file gives none: the same slug gives the same id on every machine. */
export function tagIdFromSlug(slug: string): string {
  return uuidV5(slug, TAG_NAMESPACE);
}
