import { randomUUID } from "node:crypto";
import type { WatchActivity } from "@noisefloor/clickhouse/watches/activity.ts";
import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import {
  type Destination,
  destinationSchema,
  MAX_DESTINATIONS,
  MAX_WATCHED_NETWORKS,
  NEW_VALUE_FIELDS,
  type Watch,
} from "@noisefloor/domain/watches/watch.ts";
import { errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { count, none, storedText, timestamp, uuid } from "../../wire.ts";

export const WATCHES = { group: "Watches" } as const;
export const UNAUTHORIZED = errorResponse("No valid key.", "Unauthorized");
export const NO_WATCH = "Watch not found";
export const WATCH_NOT_FOUND = errorResponse("The workspace has no such watch.", NO_WATCH);
export const WATCH_ID: PathParameter = {
  schema: z.string(),
  description: "The id of a watch.",
  errorMessage: "Invalid parameter: id",
  example: "4b0c54c8-6a0e-4c53-9c0a-9a5f0a8a7d10",
};

export const DEFAULT_MIN_ADDRESSES = 3;
export const SILENT_MINUTES = { min: 5, max: 5 * 24 * 60 } as const;
/** Events are kept 90 days: what was told before is told again. */
export const MAX_REPEAT_HOURS = 90 * 24;
export const DEFAULT_REPEAT_HOURS = {
  network_seen: 24,
  tag_rises: 24,
  search_matches: 0,
  new_value: 0,
  sensor_silent: 0,
};

/** What a watch waits for, as callers send it. */
export const sentConditionSchema = z
  .discriminatedUnion("type", [
    z
      .strictObject({
        type: z.literal("network_seen"),
        networks: z.array(z.string()).min(1).max(MAX_WATCHED_NETWORKS).describe("IPv4 networks and addresses."),
      })
      .meta({ id: "NetworkSeen" }),
    z
      .strictObject({ type: z.literal("search_matches"), query: z.string().min(1).max(MAX_QUERY_LENGTH) })
      .meta({ id: "SearchMatches" }),
    z
      .strictObject({ type: z.literal("tag_rises"), tag: z.string().describe("The slug of a tag.") })
      .meta({ id: "TagRises" }),
    z
      .strictObject({
        type: z.literal("new_value"),
        field: z.enum(NEW_VALUE_FIELDS),
        min_addresses: z.int().min(1).max(1_000).optional().describe(`${DEFAULT_MIN_ADDRESSES} by default.`),
      })
      .meta({ id: "NewValue" }),
    z
      .strictObject({
        type: z.literal("sensor_silent"),
        sensors: z.array(storedText.min(1).max(256)).max(1_000).optional().describe("All, if left out or empty."),
        after_minutes: z.int().min(SILENT_MINUTES.min).max(SILENT_MINUTES.max),
      })
      .meta({ id: "SensorSilent" }),
  ])
  .meta({ id: "WatchCondition" });

/** Where events go, as callers send it. */
export const sentDestinationSchema = z
  .strictObject({
    id: z.string().optional().describe("Of a destination of the watch, which keeps what is left out."),
    type: z.enum(["webhook", "email", "slack", "mattermost", "ntfy", "syslog"]).optional(),
    url: z.string().max(2_000).optional().describe("Of all but `email` and `syslog`."),
    format: z.enum(["standard", "greynoise"]).optional().describe("Of `webhook`; `standard` by default."),
    secret: z.string().optional().describe("Of `webhook`: `whsec_` and base64; made unless sent."),
    token: z.string().max(1_000).optional().describe("Of `ntfy`, where the topic needs one."),
    to: z.array(z.string().max(320)).min(1).max(20).optional().describe("Of `email`."),
    host: z.string().max(253).optional().describe("Of `syslog`, as the next two."),
    port: z.int().min(1).max(65_535).optional(),
    transport: z.enum(["tcp", "tls"]).optional().describe("`tls` by default."),
  })
  .meta({ id: "WatchDestinationSent" });
export type SentDestination = z.infer<typeof sentDestinationSchema>;

const watchMembers = {
  name: storedText.min(1).max(200),
  on: sentConditionSchema,
  repeat_after_hours: z
    .int()
    .min(0)
    .max(MAX_REPEAT_HOURS)
    .optional()
    .describe(
      "How long nothing is said of what was told before it is told again; 0 for never. 24 by default for `network_seen` and `tag_rises`, else 0.",
    ),
  enabled: z.boolean().optional().describe("true by default."),
  deliver: z.array(sentDestinationSchema).max(MAX_DESTINATIONS).optional(),
};
export const sentWatchSchema = z.strictObject(watchMembers).meta({ id: "WatchDefinition" });
export const changedWatchSchema = z
  .strictObject(watchMembers)
  .partial()
  .refine((change) => Object.keys(change).length > 0)
  .meta({ id: "WatchChange", minProperties: 1 });

const wireDestinationSchema = z
  .strictObject({
    id: z.string(),
    off: z.boolean().describe("It has answered 410, and gets nothing more until it is sent again with its `id`."),
    type: z.enum(["webhook", "email", "slack", "mattermost", "ntfy", "syslog"]),
    url: z.string().optional().describe("Of `slack` and `mattermost` without its path, which is a secret."),
    format: z.enum(["standard", "greynoise"]).optional(),
    secret: z.string().optional().describe("In the answer that creates it alone."),
    to: z.array(z.string()).optional(),
    host: z.string().optional(),
    port: z.int().optional(),
    transport: z.enum(["tcp", "tls"]).optional(),
  })
  .meta({ id: "WatchDestination" });

export const watchSchema = z
  .strictObject({
    id: uuid,
    name: z.string(),
    on: sentConditionSchema,
    repeat_after_hours: z.int(),
    enabled: z.boolean(),
    deliver: z.array(wireDestinationSchema),
    origin: z.enum(["api", "file"]).describe("`file` for one of `WATCHES_FILE`, which alone changes it."),
    since: timestamp.describe("What is stored since then counts."),
    last_event_at: timestamp.or(none).describe("Empty without an event in 90 days."),
    undelivered: count.describe("Deliveries that were tried, or given up, and did not arrive."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Watch" });

export const EXAMPLE_WATCH = {
  id: WATCH_ID.example,
  name: "one of ours scans",
  on: { type: "network_seen", networks: ["198.51.100.0/24"] },
  repeat_after_hours: 24,
  enabled: true,
  deliver: [{ id: "0f7c1f9a", off: false, type: "webhook", url: "https://soar.example.org/hook", format: "standard" }],
  origin: "api",
  since: "2026-11-20T12:00:00Z",
  last_event_at: "2026-11-20T13:20:30Z",
  undelivered: 0,
  created_at: "2026-11-20T12:00:00Z",
  updated_at: "2026-11-20T12:00:00Z",
};
export const SENT_WATCH = {
  name: EXAMPLE_WATCH.name,
  on: EXAMPLE_WATCH.on,
  deliver: [{ type: "webhook", url: "https://soar.example.org/hook" }],
};

/** @param shown the ids of destinations whose secrets are shown, this once. */
export function toWireWatch(
  watch: Watch,
  { lastEventAt, undelivered }: WatchActivity,
  shown: ReadonlySet<string> = new Set(),
): z.input<typeof watchSchema> {
  return {
    id: watch.id,
    name: watch.name,
    on: watch.on,
    repeat_after_hours: watch.repeatAfterHours,
    enabled: watch.isEnabled,
    deliver: watch.deliver.map((destination) => toWireDestination(destination, shown.has(destination.id))),
    origin: watch.origin,
    since: formatTimestamp(watch.sinceAt),
    last_event_at: lastEventAt === 0 ? "" : formatTimestamp(lastEventAt),
    undelivered,
    created_at: formatTimestamp(watch.createdAt),
    updated_at: formatTimestamp(watch.updatedAt),
  };
}

function toWireDestination(destination: Destination, isShown: boolean): z.input<typeof wireDestinationSchema> {
  const { id, isOff: off } = destination;
  switch (destination.type) {
    case "webhook": {
      const { type, url, format, secret } = destination;
      return { id, off, type, url, format, ...(isShown && { secret }) };
    }
    case "slack":
    case "mattermost":
      return { id, off, type: destination.type, url: `${new URL(destination.url).origin}/…` };
    case "ntfy":
      return { id, off, type: "ntfy", url: destination.url };
    case "email":
      return { id, off, type: "email", to: destination.to };
    case "syslog": {
      const { type, host, port, transport } = destination;
      return { id, off, type, host, port, transport };
    }
  }
}

const MEMBERS = {
  webhook: ["url"],
  slack: ["url"],
  mattermost: ["url"],
  ntfy: ["url"],
  email: ["to"],
  syslog: ["host", "port"],
} as const;

const DEFAULTS: Readonly<Record<Destination["type"], Partial<SentDestination>>> = {
  webhook: { format: "standard" },
  ntfy: { token: "" },
  syslog: { transport: "tls" },
  slack: {},
  mattermost: {},
  email: {},
};

/**
 * A destination as it is stored.
 * @param before the destinations that the watch has.
 * @returns a sentence for one that cannot be one.
 */
export function toDestination(
  sent: SentDestination,
  before: readonly Destination[],
  { newSecret, now }: { readonly newSecret: () => string; readonly now: () => number },
): Destination | string {
  const kept = before.find(({ id }) => id === sent.id);
  if (sent.id !== undefined && kept === undefined) return `the watch has no destination ${sent.id}`;
  const type = sent.type ?? kept?.type;
  if (type === undefined) return "each destination has a type";
  if (kept !== undefined && kept.type !== type) return "a destination keeps its type";
  // Events have whole seconds.
  // Of some, answers have the URL without its path, which is a secret.
  const isShown = kept !== undefined && toWireDestination(kept, false).url === sent.url;
  const made: SentDestination & { isOff: boolean; addedAt: number } = {
    addedAt: Math.floor(now() / 1_000) * 1_000,
    ...DEFAULTS[type],
    ...(type === "webhook" && { secret: newSecret() }),
    ...kept,
    ...sent,
    ...(isShown && "url" in kept && { url: kept.url }),
    isOff: false,
    type,
    id: kept?.id ?? randomUUID().slice(0, 8),
  };
  const missing = MEMBERS[type].find((member) => made[member] === undefined);
  if (missing !== undefined) return `${type} takes ${missing}`;
  const parsed = destinationSchema.safeParse(made);
  return parsed.success ? parsed.data : `not a destination of the type ${type}`;
}
