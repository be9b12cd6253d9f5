import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { varyByEncoding } from "./compression.ts";

/**
 * Sets the `ETag` of a body. It is a weak one, as the same stands for the body in every content encoding.
 * @returns whether the client has the body already, so that a 304 without one will do.
 */
export function isNotModified(request: FastifyRequest, reply: FastifyReply, body: string | readonly Buffer[]): boolean {
  const hash = createHash("sha1");
  for (const piece of typeof body === "string" ? [body] : body) hash.update(piece);
  const tag = `"${hash.digest("base64url")}"`;
  reply.header("etag", `W/${tag}`);
  const known = request.headers["if-none-match"] ?? "";
  const isKnown = known.trim() === "*" || known.split(",").some((one) => one.trim().replace(/^W\//, "") === tag);
  // A 304 names what the body would depend on.
  if (isKnown) varyByEncoding(reply);
  return isKnown;
}
