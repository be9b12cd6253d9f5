import { byName, LISTED_MEMBERS } from "@noisefloor/domain/observation/members.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { WORKSPACE_LABELS } from "../parameters.ts";
import { count, counts, NOT_ENTITLED } from "../wire.ts";
import { describeSearch } from "./adjusted-query.ts";
import type { SearchRouteDeps } from "./answers.ts";
import { ADJUSTED, adjustedQuery, SEARCH, wrongQuery } from "./operations.ts";
import { ENTRIES, QUERY, SEARCH_DAYS } from "./parameters.ts";
import { readSearch } from "./search.ts";

const FACETS = ["port", ...LISTED_MEMBERS.map(({ field }) => field)] as const;

const valuesSchema = z
  .strictObject({
    query: z.string().describe("As sent."),
    adjusted_query: adjustedQuery,
    count,
    values: z.strictObject({
      ports: counts({ port: z.int(), protocol: z.string() }),
      ...byName(LISTED_MEMBERS.map(({ list: [name] }) => [name, counts({ value: z.string() })])),
    }),
  })
  .meta({ id: "SearchValues" });
const EXAMPLE = {
  query: "tags:mirai",
  adjusted_query: "",
  count: 2,
  values: {
    ports: [{ port: 23, protocol: "tcp", count: 2 }],
    ...byName(
      LISTED_MEMBERS.map(({ list: [name] }) => [name, name === "paths" ? [{ value: "/shell", count: 1 }] : []]),
    ),
  },
};

/** `GET /v3/gnql/values`: what the addresses that match did. */
export const searchValues = defineOperation({
  ...SEARCH,
  id: "valuesGNQL",
  path: "/v3/gnql/values",
  summary: "What the addresses that match a query did: ports, paths, user agents, fingerprints and more",
  description:
    "Distinct addresses by each value, most first, ties by value. Texts are in lower case, as the search compares in any case. Does not count as a lookup.",
  queryParameters: [QUERY, ENTRIES, SEARCH_DAYS, WORKSPACE_LABELS],
  success: { status: 200, description: "The lists, possibly empty.", schema: valuesSchema, example: EXAMPLE },
  errorResponses: {
    206: { description: ADJUSTED, schema: valuesSchema, example: EXAMPLE },
    400: wrongQuery,
    403: NOT_ENTITLED,
  },
});

export function registerSearchValues(app: FastifyInstance, deps: SearchRouteDeps): void {
  app.implement(searchValues, async (request, reply, { signal }) => {
    const search = await readSearch(request, readParameter(request.query, SEARCH_DAYS), deps, signal);
    const limit = readParameter(request.query, ENTRIES);
    const questions = deps.answerSearch(app, { request, reply, signal });
    const [counted, rows] = await Promise.all([questions.counts(search), questions.values(search, FACETS, limit)]);
    const listOf = (field: (typeof FACETS)[number]) =>
      rows.flatMap((row) => (row.field === field ? { value: row.value, count: row.count } : []));
    return {
      ...describeSearch(search, counted.matching > counted.count, reply),
      count: counted.count,
      values: {
        ports: listOf("port").map(({ value, count: addresses }) => {
          const [port, protocol = ""] = value.split("/");
          return { port: Number(port), protocol, count: addresses };
        }),
        ...byName(LISTED_MEMBERS.map(({ field, list: [name] }) => [name, listOf(field)])),
      },
    };
  });
}
