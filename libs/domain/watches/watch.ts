import { v5 as uuidV5 } from "uuid";
import { z } from "zod";

/** What `new_value` watches: the fields, as the search calls them. */
export const NEW_VALUE_FIELDS = ["raw_data.http.path", "cve", "tags"] as const;
export type NewValueField = (typeof NEW_VALUE_FIELDS)[number];

/** What a watch waits for, as callers send it and the store keeps it. */
export const conditionSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("network_seen"), networks: z.array(z.string()) }),
  z.object({ type: z.literal("search_matches"), query: z.string() }),
  /** The slug of a tag. */
  z.object({ type: z.literal("tag_rises"), tag: z.string() }),
  z.object({ type: z.literal("new_value"), field: z.enum(NEW_VALUE_FIELDS), min_addresses: z.int() }),
  /** Without sensors: every sensor that the workspace may know. */
  z.object({ type: z.literal("sensor_silent"), sensors: z.array(z.string()), after_minutes: z.int() }),
]);
export type WatchCondition = z.infer<typeof conditionSchema>;
export type WatchType = WatchCondition["type"];
export type ConditionOf<Type extends WatchType> = Extract<WatchCondition, { type: Type }>;

const destination = {
  id: z.string(),
  /** It answered that it is gone for good (410), and gets nothing more. */
  isOff: z.boolean(),
  /** In milliseconds since 1970 UTC: it gets no events of before. */
  addedAt: z.int(),
};

/** Where events of a watch are delivered, with its secrets, as the store keeps it. `id` tells those of a watch apart. */
export const destinationSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("webhook"),
    ...destination,
    url: z.string(),
    /** `standard` as of Standard Webhooks; `greynoise` as the hosted service's alerts. */
    format: z.enum(["standard", "greynoise"]),
    /** `whsec_` and base64. */
    secret: z.string(),
  }),
  z.object({ type: z.literal("email"), ...destination, to: z.array(z.string()) }),
  z.object({ type: z.enum(["slack", "mattermost"]), ...destination, url: z.string() }),
  /** `url` is that of a topic. The token is empty for a topic that takes messages of all. */
  z.object({ type: z.literal("ntfy"), ...destination, url: z.string(), token: z.string() }),
  z.object({
    type: z.literal("syslog"),
    ...destination,
    host: z.string(),
    port: z.int(),
    transport: z.enum(["tcp", "tls"]),
  }),
]);
export type Destination = z.infer<typeof destinationSchema>;
export type DestinationType = Destination["type"];

/** A condition whose events are kept and delivered. Times in milliseconds since 1970 UTC. */
export type Watch = {
  readonly id: string;
  /** Whose it is: it finds what this workspace may find, and its keys alone read and change it. */
  readonly workspaceId: string;
  readonly name: string;
  /** `file` for one of WATCHES_FILE, which alone changes it. */
  readonly origin: "api" | "file";
  readonly on: WatchCondition;
  /** How long nothing is said of what was told before it is told again; 0 for never again. */
  readonly repeatAfterHours: number;
  readonly isEnabled: boolean;
  readonly deliver: readonly Destination[];
  /** When its condition was made or changed: what is stored since then counts. */
  readonly sinceAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export const MAX_WATCHED_NETWORKS = 1_000;
export const MAX_DESTINATIONS = 20;
/** An observation that is stored later than this after it was made is history: it makes no event. */
export const MAX_LATE_HOURS = 24;
/** For how long events are kept. */
export const EVENTS_KEPT_DAYS = 90;
/** Addresses, values or sensors that an event lists; it counts all. */
export const MAX_LISTED = 100;

const WATCH_NAMESPACE = "d3a0c1a4-4a8e-4a53-8f7f-1f0a3f0c7b52";

/** Of a watch of a file: the same for the same name in every process. */
export const watchIdOfFile = (workspaceId: string, name: string) =>
  uuidV5(JSON.stringify([workspaceId, name]), WATCH_NAMESPACE);
