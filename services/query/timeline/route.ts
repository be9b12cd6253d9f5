import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { DAY_MS, formatDate, formatTimestamp, HOUR_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, readParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { firstSeen } from "../address/details-query.ts";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { TIMELINE_COST } from "../costs.ts";
import { ADDRESS, DAYS, readScopes, WORKSPACE_LABELS } from "../parameters.ts";
import { count, date, ip, LIMIT_HEADERS, none, TOO_MANY_LOOKUPS, timestamp } from "../wire.ts";
import { MAX_LABELED_BYTES, MAX_LABELS, OTHER_LABELS } from "./queries.ts";
import { readTimeline, TIMELINE_FIELDS, type TimelineField } from "./read-timeline.ts";

const FIELD: Parameter<TimelineField> = {
  name: "field",
  description: "The field by which observations are counted.",
  takes: TIMELINE_FIELDS.join(", "),
  schema: z.enum(TIMELINE_FIELDS).default("classification"),
  describedBy: "input",
  example: "destination_port",
};
type Width = { readonly text: string; readonly ms: number };
const GRANULARITY: Parameter<Width> = {
  name: "granularity",
  description: "The width of a bucket; buckets start at multiples of it since 1970 UTC.",
  takes: "1h to 24h or 1d to 90d",
  schema: z
    .string()
    .regex(/^(?:(?:[1-9]|1\d|2[0-4])h|(?:[1-9]|[1-8]\d|90)d)$/)
    .default("1d")
    .transform((text) => ({ text, ms: Number(text.slice(0, -1)) * (text.endsWith("h") ? HOUR_MS : DAY_MS) })),
  describedBy: "input",
  example: "1d",
};

const responseSchema = z
  .strictObject({
    metadata: z.strictObject({
      ip,
      field: z.enum(TIMELINE_FIELDS),
      first_seen: date.or(none),
      start: timestamp,
      end: timestamp,
      granularity: z.string(),
      metric: z.literal("count"),
    }),
    results: z.array(z.strictObject({ data: count.min(1), label: z.string(), timestamp })),
  })
  .meta({ id: "Timeline" });

/** `GET /v3/noise/ips/{ip}/timeline`: the observations of an address over time. API, operation 6. */
export const getTimeline = defineOperation({
  id: "getTimeline",
  method: "GET",
  path: "/v3/noise/ips/{ip}/timeline",
  group: "Addresses",
  summary: "The observations of an address over time",
  description:
    "Distinct observations per bucket and label, newest bucket first; only buckets with activity. The list of an " +
    `address without any is empty. At most ${MAX_LABELS} labels have rows of their own: those with the most ` +
    "observations in the whole window, ties by label, as far as they fit in about " +
    `${MAX_LABELED_BYTES / 2 ** 20} MiB. The observations of a bucket with any other label are one row with the label ` +
    `\`${OTHER_LABELS}\`, as are observations with this very text. Counts as a lookup.`,
  pathParameters: { ip: ADDRESS },
  queryParameters: [DAYS, FIELD, GRANULARITY, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The timeline.",
    schema: responseSchema,
    example: {
      metadata: {
        ip: "192.175.48.6",
        field: "destination_port",
        first_seen: "2026-10-14",
        start: "2026-11-19T13:20:26Z",
        end: "2026-11-20T13:20:26Z",
        granularity: "1d",
        metric: "count",
      },
      results: [{ data: 3, label: "22", timestamp: "2026-11-20T00:00:00Z" }],
    },
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    429: TOO_MANY_LOOKUPS,
    400: errorResponse(
      "The address is not routable, a parameter is invalid, a scope is unrecognized, or `personal` is requested without a key.",
      "Invalid parameter: ip",
    ),
  },
});

export function registerTimeline(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(getTimeline, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    const ip = readPath(request.params.ip, ADDRESS);
    const days = Math.min(readParameter(request.query, DAYS), caller.limits.reach_days);
    const field = readParameter(request.query, FIELD);
    const width = readParameter(request.query, GRANULARITY);
    const scopes = readScopes("timeline", request.query, caller);

    const end = deps.now();
    const start = end - days * DAY_MS;
    const since = retentionStart(end, deps.retentionDays());
    const window = { ip, scopes, from: Math.max(start, since), end, width: width.ms / 1_000 };
    const read = async () => {
      await refreshOutdated(deps);
      const [rows, seen] = await Promise.all([
        readTimeline(field, window, deps, deadline.signal),
        deps.read(firstSeen, { ip, scopes, since }, deadline.signal),
      ]);
      return { firstSeen: onlyRow(firstSeen, seen).first_seen, rows };
    };
    const timeline = await deps.countLookups({ request, reply, caller, lookups: 1, deadline }, () =>
      app.admission.run(request, TIMELINE_COST, deadline.signal, read),
    );
    return {
      metadata: {
        ip,
        field,
        first_seen: timeline.firstSeen === 0 ? "" : formatDate(timeline.firstSeen),
        start: formatTimestamp(start),
        end: formatTimestamp(end),
        granularity: width.text,
        metric: "count" as const,
      },
      results: timeline.rows.map((row) => ({
        data: row.observations,
        label: row.shown_label,
        timestamp: formatTimestamp(row.start * 1_000),
      })),
    };
  });
}
