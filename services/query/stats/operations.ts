import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { DAYS, daysBack, LIMIT, WORKSPACE_LABELS } from "../parameters.ts";
import { classification, count, NOT_ENTITLED, timestamp } from "../wire.ts";

/** An hour has thousands of addresses: to merge the sets of more hours takes too long. */
export const HOURS_DAYS = daysBack(30);

/** No rollup knows which observations came twice, so that the rows themselves are counted. */
export const OBSERVATIONS_DAYS = daysBack(7);

export const metadata = z
  .strictObject({
    start_date: timestamp.describe("The start of the window, which the caller's plan may have limited."),
    end_date: timestamp,
  })
  .meta({ id: "StatsMetadata" });
export const EXAMPLE_METADATA = { start_date: "2026-11-19T14:00:00Z", end_date: "2026-11-20T14:00:00Z" };
const active = count.describe("Distinct addresses, exactly.");
const total = count.describe("All distinct addresses of the window, also those of which the member is not known.");

export const WINDOW = "The window ends with the current hour. Does not count as a lookup.";
export const ERRORS = {
  400: errorResponse("A parameter is invalid.", "Invalid parameter: days takes a whole number from 1 to 90"),
  403: NOT_ENTITLED,
};
export const STATS = { method: "GET", group: "Statistics", pathParameters: {}, errorResponses: ERRORS } as const;

/** `GET /v3/stats/hours`: the addresses of each hour. */
export const getStatsByHour = defineOperation({
  ...STATS,
  id: "getStatsByHour",
  path: "/v3/stats/hours",
  summary: "How many distinct addresses were seen in each hour",
  description: `Oldest first and without gaps. ${WINDOW}`,
  queryParameters: [HOURS_DAYS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The hours.",
    schema: z
      .strictObject({
        hours: z.array(z.strictObject({ start: timestamp, end: timestamp, active_ips: active }).meta({ id: "Hour" })),
        metadata,
      })
      .meta({ id: "StatsByHour" }),
    example: {
      hours: [{ start: "2026-11-20T13:00:00Z", end: "2026-11-20T14:00:00Z", active_ips: 1_204 }],
      metadata: EXAMPLE_METADATA,
    },
  },
});

/** `GET /v3/stats/observations`: how much was seen in each hour. */
export const getStatsByObservation = defineOperation({
  ...STATS,
  id: "getStatsByObservation",
  path: "/v3/stats/observations",
  summary: "How many distinct observations were made in each hour",
  description:
    "By the time at which a sensor made them; one that arrived twice counts once. Oldest first and without gaps. " +
    WINDOW,
  queryParameters: [OBSERVATIONS_DAYS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The hours.",
    schema: z
      .strictObject({
        hours: z.array(
          z
            .strictObject({ start: timestamp, end: timestamp, observations: count.describe("Exactly.") })
            .meta({ id: "HourOfObservations" }),
        ),
        metadata,
      })
      .meta({ id: "StatsByObservation" }),
    example: {
      hours: [{ start: "2026-11-20T13:00:00Z", end: "2026-11-20T14:00:00Z", observations: 18_230 }],
      metadata: EXAMPLE_METADATA,
    },
  },
});

/** `GET /v3/stats/networks`: where the addresses are, by autonomous system. */
export const getStatsByNetwork = defineOperation({
  ...STATS,
  id: "getStatsByNetwork",
  path: "/v3/stats/networks",
  summary: "How many distinct addresses were seen in each network (ASN)",
  description:
    "Most addresses first, ties by number. An address that observations placed in several networks counts in each. " +
    WINDOW,
  queryParameters: [DAYS, LIMIT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The networks.",
    schema: z
      .strictObject({
        networks: z.array(
          z.strictObject({ asn: z.string(), organization: z.string(), active_ips: active }).meta({ id: "Network" }),
        ),
        total_ips: total,
        metadata,
      })
      .meta({ id: "StatsByNetwork" }),
    example: {
      networks: [{ asn: "AS64500", organization: "Example Hosting", active_ips: 310 }],
      total_ips: 1_204,
      metadata: EXAMPLE_METADATA,
    },
  },
});

/** `GET /v3/stats/countries`: where the addresses are, by country. */
export const getStatsByCountry = defineOperation({
  ...STATS,
  id: "getStatsByCountry",
  path: "/v3/stats/countries",
  summary: "How many distinct addresses were seen in each country",
  description:
    "Most addresses first, ties by code. An address that observations placed in several countries counts in each. " +
    WINDOW,
  queryParameters: [DAYS, LIMIT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The countries.",
    schema: z
      .strictObject({
        countries: z.array(
          z
            .strictObject({
              country: z.string().describe("In English; empty for a code that is not assigned."),
              country_code: z.string(),
              active_ips: active,
            })
            .meta({ id: "Country" }),
        ),
        total_ips: total,
        metadata,
      })
      .meta({ id: "StatsByCountry" }),
    example: {
      countries: [{ country: "Germany", country_code: "DE", active_ips: 97 }],
      total_ips: 1_204,
      metadata: EXAMPLE_METADATA,
    },
  },
});

/** `GET /v3/stats/classifications`: what the addresses are. */
export const getStatsByClassification = defineOperation({
  ...STATS,
  id: "getStatsByClassification",
  path: "/v3/stats/classifications",
  summary: "How many distinct addresses were seen of each classification",
  description:
    "Each address counts once, under the classification that a lookup in the same datasets shows. Worst first. " +
    WINDOW,
  queryParameters: [DAYS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "All four classifications.",
    schema: z
      .strictObject({
        classifications: z.array(
          z.strictObject({ classification, active_ips: active }).meta({ id: "ClassificationCount" }),
        ),
        total_ips: total,
        metadata,
      })
      .meta({ id: "StatsByClassification" }),
    example: {
      classifications: [
        { classification: "malicious", active_ips: 800 },
        { classification: "suspicious", active_ips: 150 },
        { classification: "unknown", active_ips: 200 },
        { classification: "benign", active_ips: 54 },
      ],
      total_ips: 1_204,
      metadata: EXAMPLE_METADATA,
    },
  },
});
