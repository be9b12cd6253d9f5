import { z } from "zod";

const timestamp = z.string();

/** An address as an event lists it. `network` is of `network_seen` alone. */
const addressSchema = z.object({
  ip: z.string(),
  network: z.string().optional(),
  first_seen: timestamp,
  last_seen: timestamp,
  classification: z.enum(["benign", "unknown", "suspicious", "malicious"]),
  /** Slugs. */
  tags: z.array(z.string()),
});
export type EventAddress = z.infer<typeof addressSchema>;

/** `count` counts all; `truncated` says that the list has only the first of them. */
const listed = { count: z.int(), truncated: z.boolean() };

const head = {
  /** Names the event, whichever process found it. */
  id: z.string(),
  watch: z.object({ id: z.string(), name: z.string() }),
  detected_at: timestamp,
  /** One line for people. It has what attackers wrote: every destination escapes it in its way. */
  summary: z.string(),
  /** The page of the watch. */
  link: z.string(),
};

/** An event as it is stored, answered and delivered by webhooks. Times are RFC 3339 with Z. */
export const eventSchema = z.discriminatedUnion("type", [
  z
    .object({
      ...head,
      type: z.literal("network_seen"),
      data: z.object({ ...listed, addresses: z.array(addressSchema) }),
    })
    .meta({ id: "NetworkSeenEvent" }),
  z
    .object({
      ...head,
      type: z.literal("search_matches"),
      data: z.object({ query: z.string(), ...listed, addresses: z.array(addressSchema) }),
    })
    .meta({ id: "SearchMatchesEvent" }),
  z
    .object({
      ...head,
      type: z.literal("new_value"),
      data: z.object({
        field: z.string(),
        ...listed,
        /** `addresses` counts the distinct addresses that have it. */
        values: z.array(z.object({ value: z.string(), addresses: z.int() })),
      }),
    })
    .meta({ id: "NewValueEvent" }),
  z
    .object({
      ...head,
      type: z.literal("sensor_silent"),
      data: z.object({
        after_minutes: z.int(),
        ...listed,
        sensors: z.array(z.object({ sensor: z.string(), last_seen: timestamp })),
      }),
    })
    .meta({ id: "SensorSilentEvent" }),
  z
    .object({
      ...head,
      type: z.literal("tag_rises"),
      data: z.object({
        tag: z.object({ slug: z.string(), name: z.string() }),
        /** The beginning of the hour, which may still go on. */
        hour: timestamp,
        /** Distinct addresses in it so far. */
        count: z.int(),
        /** What is usual for this hour of the week. */
        expected: z.object({ median: z.number(), low: z.number(), high: z.number() }),
        /** The hours that it was made from, with their counts. */
        made_from: z.array(z.object({ hour: timestamp, count: z.int() })),
      }),
    })
    .meta({ id: "TagRisesEvent" }),
  z.object({ ...head, type: z.literal("test"), data: z.object({}) }).meta({ id: "TestEvent" }),
]);
export type WatchEvent = z.infer<typeof eventSchema>;
export type EventType = WatchEvent["type"];
export type EventData<Type extends EventType> = Extract<WatchEvent, { type: Type }>["data"];
