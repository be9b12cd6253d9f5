import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { readParameter, text } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { EXAMPLE_TAG, toWireTag, wireTagSchema } from "./wire-tag.ts";

const NAME = text({ name: "name", description: "A part of the name, case-insensitive.", example: "ssh" });
const SLUG = text({ name: "slug", description: "The exact slug.", example: "ssh-scanner" });
const CVE = text({ name: "cve", description: "A CVE of the tag, case-insensitive.", example: "CVE-2024-3094" });

/** `GET /v3/tags`: the catalogue, filtered by part of the name, by slug and by CVE; filters combine with AND. */
export const listTags = defineOperation({
  id: "listTags",
  method: "GET",
  path: "/v3/tags",
  group: "Tags",
  summary: "The tag catalogue",
  description:
    "Filters combine with AND. Ordered by slug. With the `ETag` of an answer in `If-None-Match`, the same answer is a 304.",
  pathParameters: {},
  queryParameters: [NAME, SLUG, CVE],
  success: {
    status: 200,
    description: "The matching tags, possibly none.",
    schema: z.strictObject({ tags: z.array(wireTagSchema) }).meta({ id: "TagList" }),
    example: { tags: [EXAMPLE_TAG] },
  },
  errorResponses: {
    400: errorResponse("A parameter was given more than once.", "Invalid parameter: slug was given more than once"),
  },
});

export function registerTags(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(
    listTags,
    async (request) => {
      deps.authenticate(request);
      const name = readParameter(request.query, NAME)?.toLowerCase();
      const slug = readParameter(request.query, SLUG);
      const cve = readParameter(request.query, CVE)?.toUpperCase();
      const tags = deps.catalogue
        .all()
        .filter((tag) => name === undefined || tag.name.toLowerCase().includes(name))
        .filter((tag) => slug === undefined || tag.slug === slug)
        .filter((tag) => cve === undefined || tag.cves.includes(cve));
      return { tags: tags.map((tag) => toWireTag(tag, deps.catalogue)) };
    },
    { hasEtag: true },
  );
}
