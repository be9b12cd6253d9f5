import { type Tag, tagSchema } from "@noisefloor/domain/tags/tag.ts";
import { z } from "zod";
import { defineRecords } from "../records/define-records.ts";

/** The tag catalogue, in order of the slugs. Observations that carry a deleted tag keep its id. */
export const tagRecords = defineRecords({
  table: "tags",
  id: "id",
  orderBy: "slug",
  row: tagSchema.extend({ updated_at: z.string().transform((text) => `${text.replace(" ", "T")}Z`) }),
  // Backups may have it for longer: a restore brings it back, as it was then.
  forget: { afterDays: 90 },
});

/** A tag as it stands in the catalogue, with the time of its last change (RFC 3339). */
export type CataloguedTag = Tag & { readonly updated_at: string };
