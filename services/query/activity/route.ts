import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { CataloguedTag } from "@noisefloor/clickhouse/tags/tags.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { slugSchema, UUID_PATTERN } from "@noisefloor/domain/tags/tag.ts";
import {
  activityWindow,
  formatTimestamp,
  HOUR_MS,
  MAX_WIDTH_HOURS,
  widthSchema,
} from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import {
  boolean,
  type Parameter,
  type PathParameter,
  readParameter,
  readPath,
} from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Authenticate } from "../auth.ts";
import { activityCost } from "../costs.ts";
import { DAYS, readScopes, WORKSPACE_LABELS } from "../parameters.ts";
import { createSharedAnswers } from "../shared-answers.ts";
import { classification, count, NOT_ENTITLED, timestamp, uuid } from "../wire.ts";
import { rememberTooLarge } from "./count.ts";
import { MAX_IPS_PER_BUCKET } from "./list-buckets.ts";
import type { ActivityDeps, ActivityQuery } from "./read-activity.ts";
import { bucketSchema, type SerializedActivity, serializeActivity } from "./response.ts";

const ID: PathParameter = {
  schema: z.string().regex(UUID_PATTERN).or(slugSchema),
  description: "The tag's UUID, its `id` in the tag list; or its slug.",
  errorMessage: "Invalid parameter: id takes a tag's UUID or slug",
  example: "7b534ff7-b117-53a3-8bde-9b3216036829",
};
const INCLUDE_IPS = boolean({
  name: "include_ips",
  description: "Whether each bucket lists its addresses. Slower than counts alone.",
});
const GRANULARITY: Parameter<number> = {
  name: "granularity",
  description: "The width of a bucket. Where it does not divide the window, the last bucket is shorter.",
  takes: `whole hours from 1h to ${MAX_WIDTH_HOURS}h, like 1h, 4h or 24h`,
  schema: widthSchema.prefault("24h"),
  describedBy: "input",
  example: "24h",
};

const responseSchema = z
  .strictObject({
    id: uuid,
    slug: z.string(),
    activity: z
      .partialRecord(z.enum(INTENTIONS), z.array(bucketSchema))
      .describe("The buckets, oldest first and without gaps, under the tag's intention."),
    aggregations: z.strictObject({
      total_ips: count.describe("Distinct addresses in the whole window."),
      classification: z
        .partialRecord(classification, count)
        .describe("The same number, by the classification of the addresses."),
    }),
    metadata: z.strictObject({
      granularity: z.string(),
      start_date: timestamp.describe("The start of the window, which the caller's plan may have limited."),
      end_date: timestamp,
      ips_included: z.literal(true).optional(),
      ips_per_bucket: z.literal(MAX_IPS_PER_BUCKET).optional(),
      ips_truncated: z.boolean().optional().describe("Whether any bucket lists a sample."),
    }),
  })
  .meta({ id: "TagActivity" });

/** `GET /v3/tags/{id}/activity`: how many distinct addresses a tag had per time bucket. SPEC, endpoint 2. */
export const getTagActivity = defineOperation({
  id: "getTagActivity",
  method: "GET",
  path: "/v3/tags/{id}/activity",
  group: "Tags",
  summary: "How many distinct addresses a tag had per time bucket",
  description: "The window ends with the current hour. Buckets without activity are included.",
  pathParameters: { id: ID },
  queryParameters: [DAYS, GRANULARITY, INCLUDE_IPS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The activity.",
    schema: responseSchema,
    example: {
      id: "7b534ff7-b117-53a3-8bde-9b3216036829",
      slug: "ssh-scanner",
      activity: {
        unknown: [
          {
            start: "2026-11-19T14:00:00Z",
            end: "2026-11-20T14:00:00Z",
            include_start: true,
            include_end: false,
            timestamp: "2026-11-19T14:00:00Z",
            active_ips: 1,
            ips: ["192.175.48.6"],
          },
        ],
      },
      aggregations: { total_ips: 1, classification: { unknown: 1 } },
      metadata: {
        granularity: "24h",
        start_date: "2026-11-19T14:00:00Z",
        end_date: "2026-11-20T14:00:00Z",
        ips_included: true,
        ips_per_bucket: MAX_IPS_PER_BUCKET,
        ips_truncated: false,
      },
    },
  },
  errorResponses: {
    400: errorResponse("The id is no UUID and no tag's slug, or a parameter is invalid.", ID.errorMessage),
    403: NOT_ENTITLED,
    404: errorResponse("There is no tag with this id.", "Tag not found"),
  },
});

export type TagActivityDeps = Omit<ActivityDeps, "tooLarge"> & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
};

export function registerTagActivity(app: FastifyInstance, options: TagActivityDeps): void {
  const deps = { ...options, tooLarge: rememberTooLarge(options.now) };
  const answer = createSharedAnswers<SerializedActivity>(app);
  app.implement(getTagActivity, async (request, reply, { signal }, { toJsonArray }) => {
    const caller = deps.authenticate(request);
    // API.md prescribes the order of these checks, and that all of them precede any query.
    const tag = findTag(readPath(request.params.id, ID), deps.catalogue);
    const days = readParameter(request.query, DAYS);
    const widthHours = readParameter(request.query, GRANULARITY);
    const includeIps = readParameter(request.query, INCLUDE_IPS);
    const scopes = readScopes("tag-activity", request.query, caller);
    if (tag === undefined) throw new HttpError(404, "Tag not found");

    const window = activityWindow(deps.now(), Math.min(days, caller.limits.reach_days));
    const query = { tag, scopes, window, widthHours, includeIps };
    const key = JSON.stringify({ ...query, tag: tag.id });
    const { way, buckets, totalIps, byClassification, isTruncated } = await answer(
      { request, key, cost: costOf(query) },
      signal,
      (shared) => serializeActivity(query, deps, toJsonArray, shared),
    );
    reply.header("server-timing", `read;desc=${way}`);
    return {
      id: tag.id,
      slug: tag.slug,
      activity: { [tag.intention]: buckets },
      aggregations: { total_ips: totalIps, classification: byClassification },
      metadata: {
        granularity: `${widthHours}h`,
        start_date: formatTimestamp(window.start),
        end_date: formatTimestamp(window.end),
        ...(includeIps ? { ...IPS_INCLUDED, ips_truncated: isTruncated } : {}),
      },
    };
  });
}

/**
 * A UUID is never a slug.
 * @returns undefined for a UUID that no tag has.
 * @throws HttpError 400 for the slug of no tag: SPEC has it as a malformed UUID.
 */
function findTag(reference: string, catalogue: TagCatalogue): CataloguedTag | undefined {
  if (UUID_PATTERN.test(reference)) return catalogue.byId(reference);
  const tag = catalogue.resolve(reference);
  if (tag === undefined) throw new HttpError(400, `${ID.errorMessage}; no tag has this slug`);
  return tag;
}

const IPS_INCLUDED = { ips_included: true, ips_per_bucket: MAX_IPS_PER_BUCKET } as const;

function costOf({ window, widthHours, includeIps }: ActivityQuery): number {
  const hours = (window.end - window.start) / HOUR_MS;
  return activityCost({ days: hours / 24, buckets: Math.ceil(hours / widthHours), includeIps });
}
