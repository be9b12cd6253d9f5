import { HttpError } from "@noisefloor/http/errors.ts";
import { errorResponse } from "@noisefloor/http/openapi.ts";
import type { FastifyError, FastifyRequest } from "fastify";
import { z } from "zod";

/** API, operation 5: how many addresses a body may hold, and how large it may be. */
export const MAX_ADDRESSES = 10_000;
export const MAX_BODY_BYTES = 1024 * 1024;

const addressesSchema = z.object({ ips: z.array(z.string()).min(1).max(MAX_ADDRESSES) }).meta({ id: "Addresses" });

/** How an operation that takes many addresses describes its body. */
export const ADDRESSES_BODY = {
  mediaTypes: ["application/json"],
  description: `1 to ${MAX_ADDRESSES} addresses, in at most 1 MiB. Read as JSON whatever its Content-Type says.`,
  schema: addressesSchema,
  example: { ips: ["192.175.48.6", "8.8.8.8"] },
};

/** The operation's refusals that have to do with its body. */
export const BODY_REFUSALS = {
  400: errorResponse(
    "The body is not such JSON, or is too large, or a parameter cannot be read.",
    `The request body must be {"ips": [...]} with 1 to ${MAX_ADDRESSES} addresses`,
  ),
};

/** What a route needs that reads such a body. */
export const ADDRESSES_ROUTE = {
  bodyLimit: MAX_BODY_BYTES,
  // Clients send JSON under any type or none: `curl -d` calls it a form.
  onRequest: async ({ raw }: FastifyRequest) => {
    raw.headers["content-type"] = "application/json";
  },
  errorHandler: refuseBody,
};

/** Whatever is wrong with the body is a 400, its size too. */
function refuseBody(error: FastifyError): never {
  throw error.code === "FST_ERR_CTP_BODY_TOO_LARGE"
    ? new HttpError(400, "The request body is larger than 1 MiB")
    : error;
}

/**
 * The strings of a body `{"ips": [...]}`, addresses or not, as they were sent. Throws a 400 for any other body.
 * Read by hand, for the schema collects what is wrong with each of some hundred thousand elements: here their number
 * comes first, and the first bad one ends it.
 */
export function readAddresses(body: unknown): readonly string[] {
  const ips: unknown = typeof body === "object" && body !== null && "ips" in body ? body.ips : undefined;
  if (Array.isArray(ips) && ips.length > 0 && ips.length <= MAX_ADDRESSES && ips.every(isString)) return ips;
  throw new HttpError(400, `The request body must be {"ips": [...]} with 1 to ${MAX_ADDRESSES} addresses`);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}
