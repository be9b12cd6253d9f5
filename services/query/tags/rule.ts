import { ruleOfTag } from "@noisefloor/clickhouse/tags/tag-rules.ts";
import { slugSchema } from "@noisefloor/domain/tags/tag.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { type PathParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { TAG_RULE_COST } from "../costs.ts";

const SLUG: PathParameter = {
  schema: slugSchema,
  description: "The slug or the id of a tag.",
  errorMessage: "Invalid parameter: slug",
  example: "ssh-scanner",
};

/** `GET /v3/noise/tags/{slug}/rule`: what an observation must hold to get a tag. */
export const getTagRule = defineOperation({
  id: "getTagRule",
  method: "GET",
  path: "/v3/noise/tags/{slug}/rule",
  group: "Tags",
  summary: "What the rule of a tag matches",
  description:
    "As the intake read it last. A tag without a rule comes from senders alone. Sensors that name a tag give it, too, " +
    "whatever its rule says.",
  pathParameters: { slug: SLUG },
  queryParameters: [],
  success: {
    status: 200,
    description: "The rule.",
    schema: z
      .strictObject({
        slug: z.string(),
        rule: z.string().describe("The `match` of the rule's file, as YAML. Empty when the tag has no rule."),
      })
      .meta({ id: "TagRule" }),
    example: { slug: "ssh-scanner", rule: "- destination_port: 22\n" },
  },
  errorResponses: {
    400: errorResponse("The slug is malformed.", SLUG.errorMessage),
    404: errorResponse("The catalogue has no such tag.", "Tag not found"),
  },
});

export function registerTagRule(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(getTagRule, async (request, _reply, { signal }) => {
    deps.authenticate(request);
    const tag = deps.catalogue.resolve(readPath(request.params.slug, SLUG));
    if (tag === undefined) throw new HttpError(404, "Tag not found");
    const { slug } = tag;
    const [found] = await app.admission.run(request, TAG_RULE_COST, signal, () =>
      deps.read(ruleOfTag, { slug }, signal),
    );
    return { slug, rule: found?.rule ?? "" };
  });
}
