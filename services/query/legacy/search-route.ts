import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { streamContexts } from "../address/read-contexts.ts";
import { bulkCost } from "../costs.ts";
import { WORKSPACE_LABELS } from "../parameters.ts";
import { describeSearch } from "../search/adjusted-query.ts";
import type { SearchRouteDeps } from "../search/answers.ts";
import { ADJUSTED, wrongQuery } from "../search/operations.ts";
import { SCROLL, SIZE } from "../search/pages/operations.ts";
import { readPage } from "../search/pages/read-page.ts";
import { QUERY, SEARCH_DAYS } from "../search/parameters.ts";
import { count, LIMIT_HEADERS, NOT_ENTITLED, TOO_MANY_LOOKUPS } from "../wire.ts";
import { onlySeen } from "./context-route.ts";
import { EXAMPLE_SEEN, seenSchema } from "./context-schema.ts";
import { LEGACY } from "./schema.ts";

const pageSchema = z
  .strictObject({
    complete: z.boolean().describe("Whether this is the last page."),
    count: count.describe("How many addresses match now, on all pages, exactly."),
    data: z.array(seenSchema),
    message: z.literal("ok"),
    query: z.string().describe("As sent."),
    adjusted_query: z.string(),
    scroll: z.string().optional().describe("The token of the next page; missing on the last, as clients stop then."),
  })
  .meta({ id: "LegacySearchPage" });
const EXAMPLE = {
  complete: true,
  count: 1,
  data: [EXAMPLE_SEEN],
  message: "ok",
  query: "port:22",
  adjusted_query: "",
} as const;

/** `GET /v2/experimental/gnql`: the addresses that match a query, in the flat form. */
export const legacySearch = defineOperation({
  ...LEGACY,
  id: "legacyQueryGNQL",
  method: "GET",
  path: "/v2/experimental/gnql",
  summary: "The addresses that match a query, in a flat form",
  description: "The search of `/v3/gnql`, whose rows have more. Each listed address counts as a lookup.",
  pathParameters: {},
  queryParameters: [QUERY, SIZE, SCROLL.parameter, SEARCH_DAYS, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "A page, possibly empty.",
    schema: pageSchema,
    example: EXAMPLE,
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    206: { description: ADJUSTED, schema: pageSchema, example: EXAMPLE, headers: LIMIT_HEADERS },
    400: wrongQuery,
    403: NOT_ENTITLED,
    429: TOO_MANY_LOOKUPS,
  },
});

export function registerLegacySearch(app: FastifyInstance, deps: SearchRouteDeps): void {
  app.implement(legacySearch, async (request, reply, deadline, { toJsonArray }) => {
    const { signal } = deadline;
    const { search, ips, count, isLess, scroll } = await readPage(app, request, { form: "flat" }, deps, {
      reply,
      signal,
    });
    const { caller, scopes } = search;
    const data = await deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
      app.admission.run(request, bulkCost(ips.length, false), signal, () =>
        toJsonArray(onlySeen(streamContexts(ips, scopes, true, deps, signal), deps.catalogue)),
      ),
    );
    return {
      complete: scroll === "",
      count,
      data,
      message: "ok" as const,
      ...describeSearch(search, isLess, reply),
      ...(scroll === "" ? {} : { scroll }),
    };
  });
}
