import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { CataloguedTag } from "@noisefloor/clickhouse/tags/tags.ts";
import { z } from "zod";
import { classification, date, texts, uuid } from "../wire.ts";

const relatedTagSchema = z.strictObject({
  id: uuid,
  name: z.string(),
  intention: classification,
  category: z.string(),
  slug: z.string(),
});

export const wireTagSchema = z
  .strictObject({
    id: uuid,
    label: z.string(),
    slug: z.string(),
    name: z.string(),
    category: z.string(),
    intention: classification,
    description: z.string(),
    references: texts,
    recommend_block: z.boolean(),
    cves: texts,
    created_at: date.describe("Since when this catalogue has it: for a starter tag, the day of its installation."),
    related_tags: z.array(relatedTagSchema),
  })
  .meta({ id: "Tag" });

export const EXAMPLE_TAG: z.input<typeof wireTagSchema> = {
  id: "7b534ff7-b117-53a3-8bde-9b3216036829",
  label: "SSH SCANNER",
  slug: "ssh-scanner",
  name: "SSH Scanner",
  category: "activity",
  intention: "unknown",
  description: "Connects to port 22.",
  references: [],
  recommend_block: false,
  cves: [],
  created_at: "2026-01-01",
  related_tags: [],
};

/** A tag in a response: with its related tags resolved, without those that are not in the catalogue. */
export function toWireTag({ related, updated_at: _updatedAt, ...tag }: CataloguedTag, catalogue: TagCatalogue) {
  return {
    ...tag,
    related_tags: related.flatMap((id) => {
      const relatedTag = catalogue.byId(id);
      if (relatedTag === undefined) return [];
      const { name, intention, category, slug } = relatedTag;
      return [{ id: relatedTag.id, name, intention, category, slug }];
    }),
  };
}
