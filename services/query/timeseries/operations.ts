import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { choice, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { EXAMPLE_CONTACT, EXAMPLE_SCANNER, scannerSchema } from "../address/schema.ts";
import { otherLengths, WORKSPACE_LABELS } from "../parameters.ts";
import { ADJUSTED_QUERY_HEADER } from "../search/adjusted-query.ts";
import { SEARCH, wrongQuery } from "../search/operations.ts";
import { QUERY } from "../search/parameters.ts";
import { count, ip, LIMIT_HEADERS, NOT_ENTITLED, TOO_MANY_LOOKUPS, texts } from "../wire.ts";
import { END, JSON_ALONE, START } from "./series.ts";

export const INTERVAL = choice({
  name: "interval",
  alsoCalled: ["granularity"],
  description: "The width of a bucket. Buckets follow each other from the start; the last one may be shorter.",
  values: ["hour", "day"],
  fallback: "hour",
});
export const LIMIT = wholeNumber({
  name: "limit",
  alsoCalled: otherLengths("limit"),
  description: "How many addresses are listed at most, each of them once an hour; fewer when no more follow.",
  min: 1,
  max: 1_000,
  fallback: 1_000,
});
export const OFFSET = wholeNumber({
  name: "offset",
  description: "How many are left out before, in the order of hours and addresses.",
  min: 0,
  max: 100_000_000,
  fallback: 0,
});

const CONDITIONS =
  "Each condition is about the observations of an address in one bucket alone: `tags:mirai` are those that did it in that hour, `first_seen` is the first time in it.";
const ERRORS = {
  400: wrongQuery,
  403: NOT_ENTITLED,
} as const;

/** `GET /v3/gnql/timeseries/stats`: how many addresses match in each hour or day. */
export const timeseriesStats = defineOperation({
  ...SEARCH,
  id: "timeseriesStatsGNQL",
  path: "/v3/gnql/timeseries/stats",
  summary: "How many addresses match a query in each hour or day",
  description: `${CONDITIONS} Does not count as a lookup.`,
  queryParameters: [QUERY, START, END, INTERVAL, JSON_ALONE, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "Every bucket, also those of 0.",
    schema: z
      .strictObject({
        count: count.describe("The sum of the buckets: an address counts in each that it matches in."),
        min: count,
        max: count,
        adjusted_query: z.string().optional().describe("What ran, where it is not what was sent; else missing."),
        data: z.array(
          z.strictObject({
            date: z
              .string()
              .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3}$/)
              .describe("When the bucket begins, in UTC."),
            count,
          }),
        ),
      })
      .meta({ id: "TimeseriesStats" }),
    textHeaders: ADJUSTED_QUERY_HEADER,
    example: { count: 7, min: 7, max: 7, data: [{ date: "2026-11-20 14:00:00.000", count: 7 }] },
  },
  errorResponses: ERRORS,
});

const rowSchema = z
  .strictObject({
    ip,
    internet_scanner_intelligence: scannerSchema
      .extend({ tags: texts.describe("By name.") })
      .meta({ id: "ScannerInHour", description: "The scanning seen from the address in this hour." }),
  })
  .meta({ id: "AddressInHour" });

/** `GET /v3/gnql/timeseries`: the addresses that match in each hour, with what they did in it. */
export const timeseries = defineOperation({
  ...SEARCH,
  id: "timeseriesGNQL",
  path: "/v3/gnql/timeseries",
  summary: "The addresses that match a query in each hour, with what they did in it",
  description: `${CONDITIONS} Each distinct address that is listed counts as a lookup; if fewer are left, it fails and counts none.`,
  queryParameters: [QUERY, START, END, LIMIT, OFFSET, JSON_ALONE, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The hours in which any is listed, oldest first, and in each the addresses in numeric order.",
    schema: z.record(z.string().regex(/^\d{4}-\d{2}-\d{2}-\d{2}$/), z.array(rowSchema)).meta({ id: "Timeseries" }),
    example: {
      "2026-11-20-14": [
        {
          ip: "192.175.48.6",
          internet_scanner_intelligence: {
            ...EXAMPLE_SCANNER,
            found: true,
            contact: EXAMPLE_CONTACT,
            tags: ["Mirai"],
            cves: [],
          },
        },
      ],
    },
    headers: LIMIT_HEADERS,
    textHeaders: ADJUSTED_QUERY_HEADER,
  },
  errorResponses: { ...ERRORS, 429: TOO_MANY_LOOKUPS },
});

export const TIMESERIES_OPERATIONS = [timeseries, timeseriesStats] as const;
