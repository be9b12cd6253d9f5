import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { requestMetadataSchema } from "../address/schema.ts";
import { WORKSPACE_LABELS } from "../parameters.ts";
import { count, ip, LIMIT_HEADERS, NOT_ENTITLED, TOO_MANY_LOOKUPS } from "../wire.ts";
import { QUERY, SEARCH_DAYS } from "./parameters.ts";

export const wrongQuery = {
  description: "The query is wrong, with every error and its place in UTF-16 units from 0, or a parameter is invalid.",
  schema: z
    .strictObject({
      message: z.string(),
      errors: z.array(z.strictObject({ message: z.string(), position: z.int(), length: z.int() })).optional(),
    })
    .meta({ id: "WrongQuery" }),
  example: {
    message: 'Character 0: no field is called "clasification". Did you mean "classification"?',
    errors: [
      {
        message: 'no field is called "clasification". Did you mean "classification"?',
        position: 0,
        length: 13,
      },
    ],
  },
};

export const adjustedQuery = z
  .string()
  .describe(
    "What ran, where it is not what was sent: names without quotes, or a plan that does not reach as far; else empty.",
  );
export const ADJUSTED = "The caller's plan does not reach as far as the query: `adjusted_query` says what ran.";
export const SEARCHED =
  "Addresses by what is stored of them, or with `days` by their latest observations. Any value of `workspace_labels` needs the entitlement.";

export const SEARCH = { method: "GET", group: "Search", pathParameters: {} } as const;

const countSchema = z
  .strictObject({ query: z.string().describe("As sent."), adjusted_query: adjustedQuery, count })
  .meta({ id: "SearchCount" });
const EXAMPLE_COUNT = { query: "tags:mirai port:23", adjusted_query: "", count: 1_234 };

/** `GET /v3/gnql/count`: how many addresses match. */
export const countSearch = defineOperation({
  ...SEARCH,
  id: "countGNQL",
  path: "/v3/gnql/count",
  summary: "How many addresses match a query",
  description: `${SEARCHED} Does not count as a lookup.`,
  queryParameters: [QUERY, SEARCH_DAYS, WORKSPACE_LABELS],
  success: { status: 200, description: "The number, exactly.", schema: countSchema, example: EXAMPLE_COUNT },
  errorResponses: {
    206: { description: ADJUSTED, schema: countSchema, example: EXAMPLE_COUNT },
    400: wrongQuery,
    403: NOT_ENTITLED,
  },
});

const ipsSchema = z
  .strictObject({
    ips: z.array(ip),
    request_metadata: requestMetadataSchema
      .extend({ message: z.literal(""), query: z.string(), adjusted_query: adjustedQuery, count })
      .meta({ id: "SearchIpsMetadata" }),
  })
  .meta({ id: "SearchIps" });
const EXAMPLE_IPS = {
  ips: ["192.175.48.6"],
  request_metadata: { restricted_fields: [], message: "", query: "tags:mirai", adjusted_query: "", count: 1 },
};

/** `GET /v3/gnql/ips`: all addresses that match, and nothing else. */
export const searchIps = defineOperation({
  ...SEARCH,
  id: "ipsGNQL",
  path: "/v3/gnql/ips",
  summary: "All addresses that match a query, in one list",
  description: `${SEARCHED} The last seen first, ties by address. Each address counts as a lookup; if fewer are left, the request fails and counts none.`,
  queryParameters: [QUERY, SEARCH_DAYS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The addresses, possibly none.",
    schema: ipsSchema,
    example: EXAMPLE_IPS,
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    206: { description: ADJUSTED, schema: ipsSchema, example: EXAMPLE_IPS, headers: LIMIT_HEADERS },
    400: wrongQuery,
    403: NOT_ENTITLED,
    429: TOO_MANY_LOOKUPS,
  },
});
