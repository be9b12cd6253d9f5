import { run } from "@noisefloor/clickhouse/query.ts";
import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { DAY_MS, formatDate, formatTimestamp, HOUR_MS, MAX_DAYS, retentionStart } from "@noisefloor/domain/window.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyInstance } from "fastify";
import { type LookupDeps, lookUpAll } from "../address-lookup.ts";
import type { Authenticate } from "../auth.ts";
import { type Parameter, type RawQuery, readParameter, wholeNumber } from "../parameters.ts";
import { TIMELINE_FIELDS, type TimelineField, timelineOf } from "../queries/timeline.ts";
import { readRooms } from "../scopes.ts";

export const TIMELINE_PATH = "/v3/noise/ips/:ip/timeline";

const DAYS = wholeNumber("days", 1, MAX_DAYS, 1);
const FIELD: Parameter<TimelineField> = {
  name: "field",
  takes: TIMELINE_FIELDS.join(", "),
  fallback: "classification",
  read: (text) => TIMELINE_FIELDS.find((field) => field === text),
};
type Width = { readonly text: string; readonly ms: number };
const GRANULARITY: Parameter<Width> = {
  name: "granularity",
  takes: "1h to 24h or 1d to 90d",
  fallback: { text: "1d", ms: DAY_MS },
  read: (text) => {
    const [, count, unit] = /^([1-9]\d?)([hd])$/.exec(text) ?? [];
    if (count === undefined || Number(count) > (unit === "h" ? 24 : MAX_DAYS)) return undefined;
    return { text, ms: Number(count) * (unit === "h" ? HOUR_MS : DAY_MS) };
  },
};

export type TimelineDeps = LookupDeps & { readonly authenticate: Authenticate };

/** `GET /v3/noise/ips/{ip}/timeline`: what an address did when. API, operation 6. */
export function registerTimeline(app: FastifyInstance, deps: TimelineDeps): void {
  app.get<{ Params: { ip: string }; Querystring: RawQuery }>(TIMELINE_PATH, async (request) => {
    const { ip } = request.params;
    const caller = deps.authenticate(request);
    if (!isRoutableIpv4(ip)) throw new HttpError(400, "Invalid parameter: ip");
    const days = Math.min(readParameter(request.query, DAYS), caller.terms.reach_days);
    const field = readParameter(request.query, FIELD);
    const width = readParameter(request.query, GRANULARITY);
    const rooms = readRooms("timeline", request.query, caller);

    const end = deps.now();
    const start = end - days * DAY_MS;
    const { noise } = (await lookUpAll([ip], rooms, deps)).get(ip) ?? {};
    const rows = await run(deps.client, timelineOf(field), {
      ip,
      rooms,
      from: Math.max(start, retentionStart(end, deps.retentionDays)),
      end,
      width: width.ms / 1_000,
      is_actor: noise?.actor !== undefined,
    });
    return {
      metadata: {
        ip,
        field,
        first_seen: noise === undefined ? "" : formatDate(noise.firstSeen),
        start: formatTimestamp(start),
        end: formatTimestamp(end),
        granularity: width.text,
        metric: "count",
      },
      results: rows.map((row) => ({
        data: row.observations,
        label: row.label,
        timestamp: formatTimestamp(row.start * 1_000),
      })),
    };
  });
}
