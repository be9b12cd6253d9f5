import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import type { FastifyInstance } from "fastify";
import type { Authenticate } from "../auth.ts";
import { type RawQuery, single } from "../parameters.ts";
import { toWireTag } from "../wire-tag.ts";

export const TAGS_PATH = "/v3/tags";

/** `GET /v3/tags`: the catalogue, filtered by part of the name, by slug and by CVE; filters combine with AND. */
export function registerTags(
  app: FastifyInstance,
  deps: { readonly catalogue: TagCatalogue; readonly authenticate: Authenticate },
): void {
  app.get<{ Querystring: RawQuery }>(TAGS_PATH, async (request) => {
    deps.authenticate(request);
    const name = single(request.query, "name")?.toLowerCase();
    const slug = single(request.query, "slug");
    const cve = single(request.query, "cve")?.toUpperCase();
    const tags = deps.catalogue
      .all()
      .filter((tag) => name === undefined || tag.name.toLowerCase().includes(name))
      .filter((tag) => slug === undefined || tag.slug === slug)
      .filter((tag) => cve === undefined || tag.cves.includes(cve));
    return { tags: tags.map((tag) => toWireTag(tag, deps.catalogue)) };
  });
}
