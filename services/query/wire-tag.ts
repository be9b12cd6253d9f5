import type { CataloguedTag } from "@noisefloor/clickhouse/tables/tags.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";

/** A tag as clients know it, with its relations looked up; those not in the catalogue are not shown. */
export function toWireTag({ related, updated_at: _updatedAt, ...tag }: CataloguedTag, catalogue: TagCatalogue) {
  return {
    ...tag,
    related_tags: related.flatMap((id) => {
      const other = catalogue.byId(id);
      if (other === undefined) return [];
      const { name, intention, category, slug } = other;
      return [{ id: other.id, name, intention, category, slug }];
    }),
  };
}
