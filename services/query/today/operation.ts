import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { WORKSPACE_LABELS } from "../parameters.ts";
import { storedSpanShape } from "../stats/stored-hours.ts";
import { classification, count, ip, NOT_ENTITLED, timestamp, uuid } from "../wire.ts";

/** How many entries a list has at most. */
export const MAX_LISTED = 20;
/** A path or a CVE is new when at least this many addresses have it. */
export const MIN_ADDRESSES = 3;

const search = z
  .strictObject({
    query: z.string(),
    days: count.describe("The `days` of the search; 0 for all that is stored."),
    link: z.string().describe("Its page in the explorer."),
  })
  .meta({ id: "TodaySearch" });
export type TodaySearch = z.output<typeof search>;

const active_ips = count.describe("Distinct addresses of the day, exactly.");
const tagShape = { slug: z.string(), name: z.string(), intention: classification, active_ips, search };

const listOf = <Entry extends z.ZodType>(entry: Entry) =>
  z.strictObject({
    count: count.describe("How many there are."),
    entries: z.array(entry).describe(`The first ${MAX_LISTED} of them.`),
  });

export const todaySchema = z
  .strictObject({
    addresses: z.strictObject({
      seen: z.strictObject({ count, search }).meta({ id: "TodaySeen" }),
      new: z.strictObject({ count, search }).meta({ id: "TodayNew" }).describe("Those never seen before."),
    }),
    new_tags: listOf(z.strictObject(tagShape).meta({ id: "TodayNewTag" })).describe(
      "Tags that no address had before, most addresses first.",
    ),
    rising_tags: listOf(
      z
        .strictObject({
          ...tagShape,
          expected: z
            .strictObject({ median: z.number(), low: z.number(), high: z.number() })
            .meta({ id: "TodayExpected" })
            .describe("What is usual for this tag in 24 hours."),
        })
        .meta({ id: "TodayRisingTag" }),
    ).describe("Tags with more addresses than is usual for them, the steepest rise first."),
    new_paths: listOf(z.strictObject({ path: z.string(), active_ips, search }).meta({ id: "TodayPath" })).describe(
      `HTTP paths, in lower case, that no address asked for before and at least ${MIN_ADDRESSES} did now, most addresses first.`,
    ),
    new_cves: listOf(z.strictObject({ cve: z.string(), active_ips, search }).meta({ id: "TodayCve" })).describe(
      `CVEs of which no address had a tag before and at least ${MIN_ADDRESSES} have one now, most addresses first.`,
    ),
    own_addresses: listOf(
      z
        .strictObject({ ip, network: z.string(), note: z.string(), classification, last_seen: timestamp, search })
        .meta({ id: "TodayOwnAddress" }),
    )
      .optional()
      .describe(
        "Addresses of the workspace's guarded networks that were seen scanning, the last seen first. Only with a key, as the next four.",
      ),
    silent_sensors: listOf(
      z
        .strictObject({ name: z.string(), sensor_id: z.string(), source: z.string(), last_seen: timestamp, search })
        .meta({ id: "TodaySensor" }),
    )
      .optional()
      .describe("As `/v3/sensors` says, the longest silence first."),
    feeds: listOf(
      z
        .strictObject({
          name: z.string(),
          count: count.describe("How many addresses it lists."),
          previous_count: count.describe("How many it listed a day before."),
          fell_from: count.describe("As of the feed: 0 where it did not lose half of its addresses at one refresh."),
          search,
        })
        .meta({ id: "TodayFeed" }),
    )
      .optional()
      .describe(
        "Feeds that list more or fewer addresses than a day before: fallen ones first, then the largest change.",
      ),
    events: listOf(
      z
        .strictObject({
          id: uuid,
          watch: z.strictObject({ id: uuid, name: z.string() }).meta({ id: "TodayWatch" }),
          detected_at: timestamp,
          summary: z.string(),
          link: z.string().describe("The page of the watch."),
        })
        .meta({ id: "TodayEvent" }),
    )
      .extend({
        undelivered: count.describe("Deliveries of events, also earlier ones, that were tried and did not arrive."),
      })
      .optional()
      .describe("Events of the workspace's watches, the newest first."),
    metadata: z
      .strictObject({
        start_date: timestamp.describe("The day is the 24 hours from here to `end_date`."),
        end_date: timestamp,
        has_yesterday: z
          .boolean()
          .describe("Whether observations of before the day are stored. Without any nothing is called new."),
        compared_days: count.describe("How many days before the day `rising_tags` compares it with; 0 for too few."),
        ...storedSpanShape,
      })
      .meta({ id: "TodayMetadata" }),
  })
  .meta({ id: "Today" });
export type Today = z.input<typeof todaySchema>;

const exampleSearch = (query: string, days = 0): TodaySearch => ({
  query,
  days,
  link: `https://noisefloor.example.org/search?${new URLSearchParams({ query, ...(days > 0 && { days: String(days) }) })}`,
});
const START = "2026-11-19T14:00:00Z";

/** `GET /v3/today`: what is different since yesterday. */
export const getToday = defineOperation({
  id: "getToday",
  method: "GET",
  path: "/v3/today",
  group: "Statistics",
  summary: "What is different since yesterday, each with the search that goes on from there",
  description:
    "The day ends with the current hour. New is what no stored observation before the day has, within the datasets asked " +
    "for. The lists that need no key are up to a minute old. Does not count as a lookup.",
  pathParameters: {},
  queryParameters: [WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The lists, possibly empty.",
    schema: todaySchema,
    example: {
      addresses: {
        seen: { count: 1_204, search: exampleSearch(`last_seen:>=${START}`) },
        new: { count: 87, search: exampleSearch(`first_seen:>=${START}`) },
      },
      new_tags: { count: 0, entries: [] },
      rising_tags: {
        count: 1,
        entries: [
          {
            slug: "ssh-bruteforcer",
            name: "SSH Bruteforcer",
            intention: "malicious",
            active_ips: 420,
            expected: { median: 120, low: 76.2, high: 163.8 },
            search: exampleSearch("tags:ssh-bruteforcer", 1),
          },
        ],
      },
      new_paths: { count: 1, entries: [{ path: "/new.php", active_ips: 5, search: exampleSearch("path:/new.php") }] },
      new_cves: { count: 0, entries: [] },
      metadata: {
        start_date: START,
        end_date: "2026-11-20T14:00:00Z",
        has_yesterday: true,
        compared_days: 28,
        stored_from: "2026-08-12T15:00:00Z",
        stored_to: "2026-11-20T14:00:00Z",
      },
    } satisfies Today,
  },
  errorResponses: {
    400: errorResponse(
      "`workspace_labels` has an unknown value.",
      "Invalid parameter: workspace_labels takes global, community and personal, separated by commas",
    ),
    403: NOT_ENTITLED,
  },
});
