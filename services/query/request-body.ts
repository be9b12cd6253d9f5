import { isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { errorResponse } from "@noisefloor/http/operations/operation.ts";
import { JsonExcessError } from "@noisefloor/http/requests/json-bodies.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyError, FastifyRequest } from "fastify";
import { z } from "zod";

/** API, operation 5: how many addresses a body may hold, and how large it may be. */
export const MAX_ADDRESSES = 10_000;
export const MAX_BODY_BYTES = 1024 * 1024;

const addressesSchema = z.object({ ips: z.array(z.string()).min(1).max(MAX_ADDRESSES) }).meta({ id: "Addresses" });

/** The request body of operations on many addresses. */
export const ADDRESSES_BODY = {
  description: `1 to ${MAX_ADDRESSES} addresses in at most 1 MiB. Parsed as JSON, whatever its Content-Type.`,
  schema: addressesSchema,
  example: { ips: ["192.175.48.6", "8.8.8.8"] },
};

/** The error responses for a bad body. */
export const BODY_ERROR_RESPONSES = {
  400: errorResponse(
    "The body is not such JSON or is too large, or a parameter is invalid.",
    `The request body must be {"ips": [...]} with 1 to ${MAX_ADDRESSES} addresses`,
  ),
};

function notAddresses(): HttpError {
  return new HttpError(400, `The request body must be {"ips": [...]} with 1 to ${MAX_ADDRESSES} addresses`);
}

/** Fastify route options for such a body. */
export const ADDRESSES_ROUTE = {
  bodyLimit: MAX_BODY_BYTES,
  // Clients send JSON with any Content-Type or none: `curl -d` declares a form.
  onRequest: async ({ raw }: FastifyRequest) => {
    raw.headers["content-type"] = "application/json";
  },
  errorHandler: rejectBody(notAddresses),
};

/** A body that is too large is a 400 as well, not a 413. @param toError for JSON with too many values. */
export function rejectBody(toError: () => HttpError) {
  return (error: FastifyError): never => {
    if (error instanceof JsonExcessError) throw toError();
    throw error.code === "FST_ERR_CTP_BODY_TOO_LARGE"
      ? new HttpError(400, "The request body is larger than 1 MiB")
      : error;
  };
}

/**
 * Reads the strings of a body `{"ips": [...]}` unchanged, whether they are addresses or not. Not with the zod schema,
 * which would collect an issue for each of up to 100,000 bad elements: this checks the length first and stops at the
 * first.
 * @throws HttpError 400 for any other body.
 */
export function readAddresses(body: unknown): readonly string[] {
  const ips: unknown = typeof body === "object" && body !== null && "ips" in body ? body.ips : undefined;
  if (Array.isArray(ips) && ips.length > 0 && ips.length <= MAX_ADDRESSES && ips.every(isString)) return ips;
  throw notAddresses();
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

/**
 * The routable addresses of a request, each with the distinct texts that mean it: clients look for their own texts in
 * the response, byte for byte.
 */
export function textsByAddress(texts: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const byAddress = new Map<string, string[]>();
  for (const text of new Set(texts)) {
    const ip = plainIpv4(text);
    if (!isRoutableIpv4(ip)) continue;
    const known = byAddress.get(ip);
    if (known === undefined) byAddress.set(ip, [text]);
    else known.push(text);
  }
  return byAddress;
}

/** What is known of some addresses, once for each text that means one. */
export async function* asSent<T>(
  found: AsyncIterable<readonly [ip: string, T]>,
  byAddress: ReadonlyMap<string, readonly string[]>,
): AsyncGenerator<readonly [text: string, T]> {
  for await (const [ip, one] of found) for (const text of byAddress.get(ip) ?? []) yield [text, one];
}
