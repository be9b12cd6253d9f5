import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { CataloguedTag } from "@noisefloor/clickhouse/tables/tags.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { slugSchema, UUID_PATTERN } from "@noisefloor/domain/tags/tag.ts";
import {
  activityWindow,
  formatTimestamp,
  HOUR_MS,
  MAX_WIDTH_HOURS,
  widthSchema,
} from "@noisefloor/domain/time/window.ts";
import { type JsonArray, JsonBytes, type ToJsonArray } from "@noisefloor/http/answer-body.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { errorResponse } from "@noisefloor/http/openapi.ts";
import { defineOperation, registerOperation } from "@noisefloor/http/operation.ts";
import { boolean, type Parameter, type PathParameter, readParameter, readPath } from "@noisefloor/http/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Authenticate } from "../auth.ts";
import { activityCost } from "../costs.ts";
import { DAYS, WORKSPACE_LABELS } from "../parameters.ts";
import { readScopes } from "../scopes.ts";
import { createSharedAnswers } from "../shared-answers.ts";
import { classification, count, ip, NOT_ENTITLED, timestamp, uuid } from "../wire.ts";
import { type ActivityBucket, MAX_IPS_PER_BUCKET } from "./list-buckets.ts";
import { maxJsonBytes, writeJson } from "./listed-addresses.ts";
import {
  type Activity,
  type ActivityDeps,
  type ActivityQuery,
  type ActivityTotals,
  readTagActivity,
} from "./read-activity.ts";

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

const bucketSchema = z
  .strictObject({
    start: timestamp,
    end: timestamp,
    include_start: z.literal(true),
    include_end: z.literal(false),
    timestamp: timestamp.describe("The same as `start`."),
    active_ips: count.describe("Distinct addresses, exactly."),
    ips: z
      .array(ip)
      .max(MAX_IPS_PER_BUCKET)
      .optional()
      .describe(
        "All addresses, ascending; where there are more than the cap, a uniform sample that is the same each time.",
      ),
  })
  .meta({ id: "ActivityBucket" });

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

export type TagActivityDeps = ActivityDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
};

export function registerTagActivity(app: FastifyInstance, deps: TagActivityDeps): void {
  const answer = createSharedAnswers<SerializedActivity>(app);
  registerOperation(app, getTagActivity, async (request, reply, { signal }, toJsonArray) => {
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

type SerializedActivity = ActivityTotals & {
  readonly way: Activity["way"];
  readonly buckets: JsonArray<WireBucket>;
  /** Whether any bucket lists a sample. */
  readonly isTruncated: boolean;
};

async function serializeActivity(
  query: ActivityQuery,
  deps: ActivityDeps,
  toJsonArray: ToJsonArray,
  signal: AbortSignal,
): Promise<SerializedActivity> {
  // Buckets and totals are read at once: when one fails, the other is not needed.
  const failed = new AbortController();
  const needed = AbortSignal.any([signal, failed.signal]);
  let isTruncated = false;
  const toWire = async function* (buckets: AsyncIterable<ActivityBucket>) {
    for await (const bucket of buckets) {
      isTruncated ||= bucket.activeIps > bucket.ips.length;
      yield query.includeIps ? toListedBucket(bucket) : toBucket(bucket);
    }
  };
  try {
    const { way, buckets, totals } = await readTagActivity(query, deps, needed);
    const [array, counted] = await Promise.all([toJsonArray<WireBucket>(toWire(buckets), needed), totals]);
    return { ...counted, way, buckets: array, isTruncated };
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}

function costOf({ window, widthHours, includeIps }: ActivityQuery): number {
  const hours = (window.end - window.start) / HOUR_MS;
  return activityCost({ days: hours / 24, buckets: Math.ceil(hours / widthHours), includeIps });
}

type WireBucket = z.input<typeof bucketSchema>;

const CLOSING_BRACE = 0x7d;

/** Its addresses are most of the answer. */
function toListedBucket(bucket: ActivityBucket): JsonBytes<WireBucket> {
  const head = `${JSON.stringify(toBucket(bucket)).slice(0, -1)},"ips":`;
  return new JsonBytes(head.length + maxJsonBytes(bucket.ips.length) + 1, (memory, start) => {
    const end = writeJson(bucket.ips, memory, start + memory.write(head, start, "latin1"));
    memory[end] = CLOSING_BRACE;
    return end + 1;
  });
}

function toBucket(bucket: ActivityBucket): WireBucket {
  return {
    start: formatTimestamp(bucket.start),
    end: formatTimestamp(bucket.end),
    include_start: true,
    include_end: false,
    timestamp: formatTimestamp(bucket.start),
    active_ips: bucket.activeIps,
  };
}
