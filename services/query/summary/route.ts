import {
  activityWindow,
  DAY_MS,
  floorToHour,
  formatTimestamp,
  retentionStart,
} from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, readParameter, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { blocksOf } from "../address-sets/hour-blocks.ts";
import { SUMMARY_COST } from "../costs.ts";
import { LIMIT, readScopes, WORKSPACE_LABELS } from "../parameters.ts";
import { createSharedAnswers } from "../shared-answers.ts";
import { readStoredSpan, type StoredSpan, storedSpanShape, toStoredSpan } from "../stats/stored-hours.ts";
import { EXAMPLE_TAG, wireTagSchema } from "../tags/wire-tag.ts";
import { count, NOT_ENTITLED, timestamp } from "../wire.ts";
import { countPerTag } from "./queries.ts";
import { RANKINGS, rank, type Sort } from "./rank.ts";

const SORTS = Object.keys(RANKINGS).filter((name): name is Sort => name in RANKINGS);
const SORT: Parameter<Sort> = {
  name: "sort",
  description:
    "The order, by the member `score`: `trending` by the addresses gained since the window before; `anomalies` by the " +
    "change in either direction, in standard deviations of a count that varies by chance; `active` by the addresses.",
  takes: SORTS.join(", "),
  schema: z.enum(SORTS).default("trending"),
  describedBy: "input",
  example: "trending",
};
const DAYS = wholeNumber({
  name: "days",
  description:
    "Days back from now, compared to as many days before. Where the caller's plan allows fewer, the response covers fewer, without an error.",
  min: 1,
  max: 7,
  fallback: 1,
});

const summarySchema = wireTagSchema
  .pick({
    id: true,
    label: true,
    slug: true,
    name: true,
    category: true,
    intention: true,
    cves: true,
    created_at: true,
  })
  .extend({
    total_ips: count.describe("Distinct addresses in the window, exactly."),
    previous_ips: count
      .optional()
      .describe(
        "The same for the window before it. Missing when observations begin later than that window: then no change is known.",
      ),
    score: z.number().describe("What the list is ordered by, see `sort`. 0 for a change that is not known."),
  })
  .strict()
  .meta({ id: "TagSummary" });

/** `GET /v3/summary/tags`: what is most active now, against the time before. */
export const getTagSummary = defineOperation({
  id: "getTagSummary",
  method: "GET",
  path: "/v3/summary/tags",
  group: "Tags",
  summary: "The most active tags, with their change against the time before",
  description:
    "The window ends with the current hour, and the window before it is as long. Where observations begin later than the " +
    "window before, nothing can be compared: `previous_ips` is missing, `anomalies` lists nothing, and `trending` lists " +
    "tags by their addresses. Does not count as a lookup.",
  pathParameters: {},
  queryParameters: [SORT, DAYS, LIMIT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The tags, possibly none.",
    schema: z
      .strictObject({
        tags: z.array(summarySchema),
        metadata: z.strictObject({
          sort: z.enum(SORTS),
          start_date: timestamp.describe("The start of the window, which the caller's plan may have limited."),
          end_date: timestamp,
          previous_start_date: timestamp.describe(
            "The start of the window before, which ends where the window starts.",
          ),
          ...storedSpanShape,
        }),
      })
      .meta({ id: "TagSummaries" }),
    example: {
      tags: [
        {
          id: EXAMPLE_TAG.id,
          label: EXAMPLE_TAG.label,
          slug: EXAMPLE_TAG.slug,
          name: EXAMPLE_TAG.name,
          category: EXAMPLE_TAG.category,
          intention: EXAMPLE_TAG.intention,
          cves: [],
          created_at: EXAMPLE_TAG.created_at,
          total_ips: 120,
          previous_ips: 100,
          score: 20,
        },
      ],
      metadata: {
        sort: "trending",
        start_date: "2026-11-19T14:00:00Z",
        end_date: "2026-11-20T14:00:00Z",
        previous_start_date: "2026-11-18T14:00:00Z",
        stored_from: "2026-08-12T15:00:00Z",
        stored_to: "2026-11-20T14:00:00Z",
      },
    },
  },
  errorResponses: {
    400: errorResponse("A parameter is invalid.", `Invalid parameter: sort takes ${SORT.takes}`),
    403: NOT_ENTITLED,
  },
});

type Counted = {
  readonly rows: readonly { tag_id: string; current: number; previous: number }[];
  readonly stored: StoredSpan;
};

export function registerTagSummary(app: FastifyInstance, deps: RouteDeps): void {
  const answer = createSharedAnswers<Counted>(app);
  app.implement(getTagSummary, async (request, _reply, { signal }) => {
    const caller = deps.authenticate(request);
    const sort = readParameter(request.query, SORT);
    const days = Math.min(readParameter(request.query, DAYS), caller.limits.reach_days);
    const limit = readParameter(request.query, LIMIT);
    const scopes = readScopes("tag-activity", request.query, caller);

    const { start, end } = activityWindow(deps.now(), days);
    // The table may have rows that have expired.
    const since = retentionStart(deps.now(), deps.retentionDays());
    const oldest = floorToHour(since);
    const startBefore = start - days * DAY_MS;
    const window = { from: Math.max(start, oldest) / 1_000, end: end / 1_000 };
    const before = { from: Math.max(startBefore, oldest) / 1_000, end: window.from };
    const both = { from: before.from, end: window.end };
    const question = { request, key: JSON.stringify({ both, window, scopes }), cost: SUMMARY_COST };
    const { rows, stored } = await answer(question, signal, async (shared) => {
      const { first, masks } = blocksOf(both, [window]);
      const previousMasks = blocksOf(both, [before]).masks;
      const params = { scopes, first, end: both.end, masks, previousMasks };
      const [rows, stored] = await Promise.all([
        deps.read(countPerTag, params, shared),
        readStoredSpan({ scopes, since }, deps.read, shared),
        refreshOutdated(deps),
      ]);
      return { rows, stored };
    });
    const isComparable = stored !== undefined && stored.from <= startBefore;
    const known = rows.flatMap(({ tag_id: id, current, previous }) => {
      const tag = deps.catalogue.byId(id);
      return tag === undefined ? [] : [{ tag, slug: tag.slug, current, previous: isComparable ? previous : undefined }];
    });
    return {
      tags: rank(known, sort, limit).map(({ tag, current, previous, score }) => ({
        id: tag.id,
        label: tag.label,
        slug: tag.slug,
        name: tag.name,
        category: tag.category,
        intention: tag.intention,
        cves: tag.cves,
        created_at: tag.created_at,
        total_ips: current,
        ...(previous === undefined ? {} : { previous_ips: previous }),
        score,
      })),
      metadata: {
        sort,
        start_date: formatTimestamp(start),
        end_date: formatTimestamp(end),
        previous_start_date: formatTimestamp(startBefore),
        ...toStoredSpan(stored),
      },
    };
  });
}
