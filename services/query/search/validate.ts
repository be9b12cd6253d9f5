import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { ADDRESSES_ROUTE, rejectBody } from "../request-body.ts";
import { texts } from "../wire.ts";
import { adjustedQueryOf } from "./adjusted-query.ts";
import { admitQuery } from "./admit-query.ts";
import { readMeant } from "./search.ts";
import { warningsOf } from "./warnings.ts";

const EXAMPLE_ERROR = {
  message: 'no field is called "clasification". Did you mean "classification"?',
  position: 0,
  length: 13,
};
const NO_QUERY = 'The request body must be {"query": "..."}';
const noQuery = () => new HttpError(400, NO_QUERY);
const querySchema = z.object({ query: z.string() }).meta({ id: "SearchQuery" });

/** `POST /v3/gnql/validate`: whether a query can be run, and what is wrong with it. */
export const validateQuery = defineOperation({
  id: "validateGNQL",
  method: "POST",
  path: "/v3/gnql/validate",
  group: "Search",
  summary: "Whether a query is right, and where it is not",
  description:
    "Answers 200 for a wrong query, too, and costs no lookup. Positions and lengths are in UTF-16 units from 0.",
  pathParameters: {},
  queryParameters: [],
  body: {
    description: `A query in the search language, of at most ${MAX_QUERY_LENGTH} characters.`,
    schema: querySchema,
    example: { query: "clasification:malicious" },
  },
  success: {
    status: 200,
    description: "What is wrong with the query, if anything.",
    schema: z
      .strictObject({
        valid: z.boolean(),
        query: z.string().describe("As sent."),
        errors: z.array(z.strictObject({ message: z.string(), position: z.int(), length: z.int() })),
        warnings: texts.describe(
          "What is no error and can find nothing, such as a tag that does not exist, or hardly what was meant.",
        ),
        is_query_adjusted: z.boolean(),
        adjusted_query: z.string().describe("What runs, where it is not what was sent; else empty."),
      })
      .meta({ id: "QueryValidation" }),
    example: {
      valid: false,
      query: "clasification:malicious",
      errors: [EXAMPLE_ERROR],
      warnings: [],
      is_query_adjusted: false,
      adjusted_query: "",
    },
  },
  errorResponses: { 400: errorResponse("The body is no such JSON.", NO_QUERY) },
});

export function registerValidateQuery(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(
    validateQuery,
    async (request, _reply, { signal }) => {
      const caller = deps.authenticate(request);
      const body = querySchema.safeParse(request.body);
      if (!body.success) throw noQuery();
      const { query } = body.data;
      const scopes = [GLOBAL_SCOPE];
      return admitQuery(request, query, signal, async (asking) => {
        const read = await readMeant({ caller, query, scopes }, deps, asking);
        if ("errors" in read) {
          const errors = [...read.errors];
          return { valid: false, query, errors, warnings: [], is_query_adjusted: false, adjusted_query: "" };
        }
        const adjusted_query = adjustedQueryOf({ query, ...read });
        const is_query_adjusted = adjusted_query !== "";
        const warnings = await warningsOf(read);
        return { valid: true, query, errors: [], warnings, is_query_adjusted, adjusted_query };
      });
    },
    { ...ADDRESSES_ROUTE, errorHandler: rejectBody(noQuery) },
  );
}
