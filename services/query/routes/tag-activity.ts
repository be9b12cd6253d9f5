import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { type Tag, UUID_PATTERN } from "@noisefloor/domain/tag.ts";
import {
  activityWindow,
  formatTimestamp,
  MAX_DAYS,
  MAX_WIDTH_HOURS,
  parseWidthHours,
  type Window,
} from "@noisefloor/domain/window.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyInstance } from "fastify";
import type { Authenticate } from "../auth.ts";
import { boolean, type Parameter, type RawQuery, readParameter, wholeNumber } from "../parameters.ts";
import { readRooms } from "../scopes.ts";
import { type Activity, type ActivityDeps, MAX_IPS_PER_BUCKET, tagActivity } from "../tag-activity.ts";

export const TAG_ACTIVITY_PATH = "/v3/tags/:id/activity";

const DAYS = wholeNumber("days", 1, MAX_DAYS, 1);
const INCLUDE_IPS = boolean("include_ips", false);
const GRANULARITY: Parameter<number> = {
  name: "granularity",
  takes: `whole hours from 1h to ${MAX_WIDTH_HOURS}h, like 1h, 4h or 24h`,
  fallback: 24,
  read: parseWidthHours,
};

export type TagActivityDeps = ActivityDeps & { readonly catalogue: TagCatalogue; readonly authenticate: Authenticate };

/** `GET /v3/tags/{id}/activity`: how many distinct addresses a tag had per time bucket. SPEC, endpoint 2. */
export function registerTagActivity(app: FastifyInstance, deps: TagActivityDeps): void {
  app.get<{ Params: { id: string }; Querystring: RawQuery }>(TAG_ACTIVITY_PATH, async (request) => {
    const { id } = request.params;
    const caller = deps.authenticate(request);
    // The order of these checks is part of the interface, and all of them come before any query runs.
    if (!UUID_PATTERN.test(id)) throw new HttpError(400, "Invalid parameter: id takes a tag's UUID");
    const days = readParameter(request.query, DAYS);
    const widthHours = readParameter(request.query, GRANULARITY);
    const includeIps = readParameter(request.query, INCLUDE_IPS);
    const rooms = readRooms("tag-activity", request.query, caller);
    const tag = deps.catalogue.byId(id);
    if (tag === undefined) throw new HttpError(404, "Tag not found");

    const window = activityWindow(deps.now(), Math.min(days, caller.terms.reach_days));
    const activity = await tagActivity({ tagId: tag.id, rooms, window, widthHours, includeIps }, deps);
    return toAnswer(tag, activity, { window, widthHours, includeIps });
  });
}

function toAnswer(
  tag: Tag,
  activity: Activity,
  asked: { readonly window: Window; readonly widthHours: number; readonly includeIps: boolean },
) {
  const isTruncated = activity.buckets.some((bucket) => bucket.activeIps > bucket.ips.length);
  return {
    id: tag.id,
    slug: tag.slug,
    activity: {
      [tag.intention]: activity.buckets.map((bucket) => ({
        start: formatTimestamp(bucket.start),
        end: formatTimestamp(bucket.end),
        include_start: true,
        include_end: false,
        timestamp: formatTimestamp(bucket.start),
        active_ips: bucket.activeIps,
        ...(asked.includeIps ? { ips: bucket.ips } : {}),
      })),
    },
    aggregations: { total_ips: activity.totalIps, classification: activity.byClassification },
    metadata: {
      granularity: `${asked.widthHours}h`,
      start_date: formatTimestamp(asked.window.start),
      end_date: formatTimestamp(asked.window.end),
      ...(asked.includeIps
        ? { ips_included: true, ips_per_bucket: MAX_IPS_PER_BUCKET, ips_truncated: isTruncated }
        : {}),
    },
  };
}
