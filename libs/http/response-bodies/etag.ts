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
  return setTag(request, reply, `W/"${hash.digest("base64url")}"`);
}

/**
 * Sets the strong `ETag` of a body whose revision is known before the body is made.
 * @param revision letters, digits and `_`, which change whenever the uncompressed body does.
 * @returns whether the client has the body already, so that the operation can resolve to `NOT_MODIFIED`.
 */
export function hasRevision(request: FastifyRequest, reply: FastifyReply, revision: string): boolean {
  return setTag(request, reply, `"${revision}"`);
}

function setTag(request: FastifyRequest, reply: FastifyReply, tag: string): boolean {
  const asked = request.headers["if-none-match"] ?? "";
  const known = asked.split(",").map((one) => one.trim());
  const opaque = withoutEncoding(tag);
  const same = known.find((one) => withoutEncoding(one) === opaque);
  const isKnown = same !== undefined || asked.trim() === "*";
  // The encoded body's strong tag is another one: a 304 repeats that which the client has.
  reply.header("etag", tag.startsWith("W/") ? tag : (same?.replace(/^W\//, "") ?? tag));
  // A 304 names what the body would depend on.
  if (isKnown) varyByEncoding(reply);
  return isKnown;
}

/** If-None-Match compares weakly, and clients may have the body in any content encoding. */
const withoutEncoding = (tag: string) => tag.replace(/^W\//, "").replace(/-(?:br|gzip)"$/, '"');
