import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { classification, count, counts, ip, LIMIT_HEADERS, TOO_MANY_LOOKUPS, uuid } from "../wire.ts";
import { MAX_ADDRESSES, NO_FILE } from "./read-upload.ts";

const ips = z.array(ip);
const percentage = z.number().min(0).max(100);

const analysisSchema = z
  .strictObject({
    uuid,
    state: z.literal("completed"),
    details: z.strictObject({
      unique_ips: count.describe("Distinct routable addresses in the text."),
      noise_ips: count,
      non_noise_ips: count,
      riot_ips: count,
      noise_ips_found: ips.describe("Those that were seen scanning."),
      riot_ips_found: ips.describe("Those of known benign services, also if they were seen scanning."),
      unknown_ips: ips.describe("All others."),
      percentage_of_noise_ips: percentage,
      percentage_of_riot_ips: percentage,
    }),
    stats: z
      .strictObject({
        actors: counts({ actor: z.string() }),
        classifications: counts({ classification }),
        countries: counts({ country: z.string() }),
        operating_systems: z.array(z.never()),
        tags: counts({ tag: z.string(), id: uuid }),
      })
      .describe("Of the addresses that were seen scanning; most first, ties by name."),
  })
  .meta({ id: "TextAnalysis" });
export type TextAnalysis = z.output<typeof analysisSchema>;

const EXAMPLE: TextAnalysis = {
  uuid: "7b534ff7-b117-4053-8bde-9b3216036829",
  state: "completed",
  details: {
    unique_ips: 2,
    noise_ips: 1,
    non_noise_ips: 1,
    riot_ips: 1,
    noise_ips_found: ["192.175.48.6"],
    riot_ips_found: ["8.8.8.8"],
    unknown_ips: [],
    percentage_of_noise_ips: 50,
    percentage_of_riot_ips: 50,
  },
  stats: {
    actors: [],
    classifications: [{ classification: "malicious", count: 1 }],
    countries: [{ country: "Vietnam", count: 1 }],
    operating_systems: [],
    tags: [{ tag: "Mirai", id: "7c3c5a52-5e53-4d0c-9c1c-0f5b1d9d2f3a", count: 1 }],
  },
};

/** `POST /v2/analyze/upload`: what is known of all addresses in a text. */
export const analyzeText = defineOperation({
  id: "analyzeText",
  method: "POST",
  path: "/v2/analyze/upload",
  group: "Addresses",
  summary: "What is known of the addresses in a text",
  description: `The text may be a log, a list or anything else of up to 10 MiB with up to ${MAX_ADDRESSES} distinct routable addresses, each of which counts as a lookup; if fewer are left, it fails and counts none.`,
  pathParameters: {},
  queryParameters: [],
  body: {
    mediaType: "multipart/form-data",
    description: "A form with the text as its member `file`, with a name of a file or without.",
    schema: z.object({ file: z.string().meta({ format: "binary" }) }).meta({ id: "TextUpload" }),
    example: { file: "Failed password for root from 192.175.48.6 port 22" },
  },
  success: {
    status: 200,
    description: "The analysis: it is complete.",
    schema: analysisSchema,
    example: EXAMPLE,
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    400: errorResponse("The body is no such form, or the text is beyond a limit.", NO_FILE),
    429: TOO_MANY_LOOKUPS,
  },
});

export const ANALYSIS: PathParameter = {
  schema: z.uuid().meta({ format: "uuid" }),
  description: "The `uuid` of an analysis.",
  errorMessage: "Invalid parameter: uuid takes that of an analysis",
  example: EXAMPLE.uuid,
};

/** `GET /v2/analyze/{uuid}`: an analysis once more. */
export const getTextAnalysis = defineOperation({
  id: "getTextAnalysis",
  method: "GET",
  path: "/v2/analyze/{uuid}",
  group: "Addresses",
  summary: "An analysis of the last hour once more",
  description:
    "For those who uploaded it: with a key of the same workspace. The process that made it keeps it for an hour, if no more come than it has memory for.",
  pathParameters: { uuid: ANALYSIS },
  queryParameters: [],
  success: { status: 200, description: "The analysis.", schema: analysisSchema, example: EXAMPLE },
  errorResponses: {
    400: errorResponse("It is no UUID.", ANALYSIS.errorMessage),
    404: errorResponse("There is no such analysis of the last hour.", "Analysis not found"),
  },
});

export const ANALYZE_OPERATIONS = [analyzeText, getTextAnalysis] as const;
