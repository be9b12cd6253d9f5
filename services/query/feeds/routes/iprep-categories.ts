import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { IPREP_CATEGORIES_CSV } from "../forms/iprep.ts";
import { type ReaderDeps, readerOf } from "../requests/readers.ts";
import { FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";

const TYPE = "text/csv";

/** `GET /v3/feeds/iprep-categories.csv`: what the numbers in the form `iprep` stand for. */
export const getIprepCategories = defineOperation({
  ...FEEDS,
  id: "getIprepCategories",
  method: "GET",
  path: "/v3/feeds/iprep-categories.csv",
  summary: "Suricata's reputation categories of the form `iprep`, the same for all feeds",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "A line a category: its number, short name and description.",
    mediaType: TYPE,
    schema: z.string(),
    example: IPREP_CATEGORIES_CSV,
  },
  errorResponses: { 401: UNAUTHORIZED },
});

export function registerIprepCategories(app: FastifyInstance, deps: ReaderDeps): void {
  app.implement(getIprepCategories, async (request, _reply, _deadline, { toMediaBody }) => {
    readerOf(request, deps);
    return toMediaBody(`${TYPE}; charset=utf-8`, [IPREP_CATEGORIES_CSV]);
  });
}
