import type { Answer } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { isFields, toText } from "../../formats/fields.ts";

/** Elasticsearch's names of errors by status, by which some clients tell them apart. */
const TYPES: Readonly<Record<number, string>> = {
  401: "security_exception",
  403: "security_exception",
  413: "content_too_long_exception",
  415: "media_type_header_exception",
  429: "es_rejected_execution_exception",
  500: "exception",
  503: "unavailable_shards_exception",
};
const OTHER_TYPE = "illegal_argument_exception";

/** The type of a rejected document's error: shippers put these into their own dead letters, and never retry them. */
export const REJECTED_TYPE = "mapper_parsing_exception";

export const causeSchema = z.strictObject({ type: z.string(), reason: z.string() });

const errorSchema = z
  .strictObject({
    error: causeSchema.extend({ root_cause: z.array(causeSchema) }),
    status: z.int(),
    message: z.string().describe("The reason again, as all our errors have it."),
    errors: z.literal(true).optional(),
    items: z
      .array(z.record(z.string(), z.strictObject({ _index: z.string(), status: z.int(), error: causeSchema })))
      .optional()
      .describe("The same of each document of a bulk request that is not stored: some clients read nothing else."),
  })
  .meta({ id: "ElasticsearchError" });

function toError(status: number, message: string, type = TYPES[status] ?? OTHER_TYPE): z.input<typeof errorSchema> {
  const cause = { type, reason: message };
  return { error: { ...cause, root_cause: [cause] }, status, message };
}

/** An error response in Elasticsearch's shape. */
export function elasticsearchError(status: number, description: string, message: string): Answer {
  return { description, schema: errorSchema, example: toError(status, message) };
}

type SentItem = { readonly action: string; readonly index: string | undefined };

/**
 * Gives all answers of a scope what Elasticsearch's clients look for: the product's header, and errors in its shape.
 * @param itemsOf what a bulk request holds. Where nothing is stored, each item says so, for rsyslog before 8.2606: it
 * sends those with a 503 again, and drops a request with one.
 */
export function answerLikeElasticsearch(
  scope: FastifyInstance,
  itemsOf: (request: FastifyRequest) => readonly SentItem[] | undefined,
): void {
  scope.addHook("preSerialization", async (request, { statusCode: status }, payload: unknown) => {
    if (status < 400 || !isFields(payload)) return payload;
    const { error, ...about } = toError(status, toText(payload.message) ?? "", toText(payload.type));
    const items = status === 503 ? itemsOf(request) : undefined;
    const { root_cause: _, ...cause } = error;
    const toItem = ({ action, index = "" }: SentItem) => ({ [action]: { _index: index, status, error: cause } });
    return { error, ...about, ...(items && { errors: true, items: items.map(toItem) }) };
  });
  scope.addHook("onSend", async (_request, reply) => void reply.header("x-elastic-product", "Elasticsearch"));
}
