import { CSV_HEADER } from "@noisefloor/domain/feeds/listed-address.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { pageToken } from "@noisefloor/http/requests/page-token.ts";
import { boolean, choice, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { EXAMPLE_CONTEXT, fullContextSchema, quickContextSchema, requestMetadataSchema } from "../../address/schema.ts";
import { otherLengths, WORKSPACE_LABELS } from "../../parameters.ts";
import { count, LIMIT_HEADERS, NOT_ENTITLED, TOO_MANY_LOOKUPS } from "../../wire.ts";
import { ADJUSTED_QUERY_HEADER } from "../adjusted-query.ts";
import { ADJUSTED, adjustedQuery, SEARCH, SEARCHED, wrongQuery } from "../operations.ts";
import { QUERY, SEARCH_DAYS } from "../parameters.ts";
import { EXCLUDE, partialScannerSchema } from "./exclude.ts";

export const SIZE = wholeNumber({
  name: "size",
  alsoCalled: otherLengths("size"),
  description: "How many addresses a page has, but for the last one.",
  min: 1,
  max: 10_000,
  fallback: 10_000,
});
export const SCROLL = pageToken({
  name: "scroll",
  takes: "a token of the page before",
  description:
    "The token of the page before, with the same `query`, `days`, `quick` and `workspace_labels`; `size` and `exclude` may differ. It holds for 24 hours.",
  example: "eyJwb3NpdGlvbiI6NzY4",
  /** The number of the address that the page begins with. */
  position: z.uint32(),
  bound: {
    maxAgeMs: DAY_MS,
    otherList: "is of a search with another query or other parameters",
    tooOld: "is older than 24 hours: search again without it",
  },
});
export const QUICK = boolean({
  name: "quick",
  description: "Whether rows have the short form: found or not, classification and trust level.",
  alsoTrue: ["True"],
  alsoFalse: ["False"],
});

export const FORMAT = choice({
  name: "format",
  description:
    "As CSV a page has the columns of a list, whatever `quick` and `exclude` say, and no page follows it: it takes no `scroll`.",
  values: ["json", "csv"],
  fallback: "json",
});

const pageMetadata = requestMetadataSchema
  .extend({
    message: z.literal(""),
    query: z.string().describe("As sent."),
    adjusted_query: adjustedQuery,
    count: count.describe("How many addresses match now, on all pages, exactly."),
    scroll: z.string().describe("The token of the next page; empty on the last."),
    complete: z.boolean().describe("Whether this is the last page."),
  })
  .meta({ id: "SearchMetadata" });
/** A row of a page in its long form. */
export const rowSchema = fullContextSchema
  .extend({ internet_scanner_intelligence: partialScannerSchema })
  .meta({ id: "SearchedAddress" });
const pageSchema = z
  .strictObject({
    request_metadata: pageMetadata,
    data: z.union([z.array(rowSchema), z.array(quickContextSchema)]),
  })
  .meta({ id: "SearchPage" });
const EXAMPLE_PAGE = {
  request_metadata: {
    restricted_fields: [],
    message: "",
    query: "tags:mirai port:23",
    adjusted_query: "",
    count: 1,
    scroll: "",
    complete: true,
  },
  data: [EXAMPLE_CONTEXT],
};
const AS_CSV = {
  otherMediaTypes: {
    "text/csv": `${CSV_HEADER}192.175.48.6,2026-09-14T03:12:09Z,2026-11-20T17:01:34Z,malicious,mirai ssh-bruteforcer,AS64500,Example Hosting,VN\r\n`,
  },
  headers: {
    ...LIMIT_HEADERS,
    "Search-Count": "Only of CSV: how many addresses match, of which a page has the first.",
  },
  textHeaders: ADJUSTED_QUERY_HEADER,
} as const;
const PAGE = {
  description: `${SEARCHED} In numeric order. An address that matches from the first page to the last is listed exactly once, whatever is stored meanwhile. Each listed address counts as a lookup; if fewer are left than the page has, it fails and counts none.`,
  queryParameters: [QUERY, SIZE, SCROLL.parameter, FORMAT, QUICK, EXCLUDE, SEARCH_DAYS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "A page, possibly empty.",
    schema: pageSchema,
    example: EXAMPLE_PAGE,
    ...AS_CSV,
  },
  errorResponses: {
    206: { description: `${ADJUSTED} CSV has no place for it.`, schema: pageSchema, example: EXAMPLE_PAGE, ...AS_CSV },
    400: wrongQuery,
    403: NOT_ENTITLED,
    429: TOO_MANY_LOOKUPS,
  },
} as const;

/** `GET /v3/gnql`: the full contexts of the addresses that match. */
export const search = defineOperation({
  ...SEARCH,
  ...PAGE,
  id: "queryGNQL",
  path: "/v3/gnql",
  summary: "The addresses that match a query, with all that is known of each",
});

/** `GET /v3/gnql/metadata`: the same without `raw_data`. */
export const searchMetadata = defineOperation({
  ...SEARCH,
  ...PAGE,
  id: "queryMetadataGNQL",
  path: "/v3/gnql/metadata",
  summary: "The addresses that match a query, without `raw_data`",
});
