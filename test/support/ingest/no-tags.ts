import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";

/** A catalogue without a tag, for tests of what needs no store. */
export const noTags: TagCatalogue = {
  all: () => [],
  byId: () => undefined,
  resolve: () => undefined,
  refresh: async () => {},
  ageSeconds: () => 0,
  stop: () => {},
};
