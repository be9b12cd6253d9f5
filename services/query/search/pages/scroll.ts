import { createHash } from "node:crypto";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { z } from "zod";

const tokenSchema = z.strictObject({
  /** The number of the next address. */
  next: z
    .int()
    .min(0)
    .max(2 ** 32 - 1),
  /** When the page was made, in milliseconds since 1970 UTC. */
  at: z.int(),
  /** Of the query and the parameters. */
  digest: z.string(),
});

const TOKEN_MS = DAY_MS;

/** A digest of the query and parameters, so that a token continues its own list only. */
export function digestOf(parameters: object): string {
  return createHash("sha256").update(JSON.stringify(parameters)).digest("base64url").slice(0, 16);
}

/** A token names a position, not a page: the list goes on after it whatever is stored meanwhile. */
export function writeScroll(next: number, digest: string, now: number): string {
  return Buffer.from(JSON.stringify({ next, at: now, digest })).toString("base64url");
}

/**
 * The number of the address that a page begins with.
 * @throws HttpError 400 for a text that is no token, one that is too old, and one of another search.
 */
export function readScroll(scroll: string | undefined, digest: string, now: number): number {
  if (scroll === undefined) return 0;
  const token = tokenSchema.safeParse(parse(scroll));
  if (!token.success) throw new HttpError(400, "Invalid parameter: scroll takes a token of the page before");
  if (token.data.digest !== digest) {
    throw new HttpError(400, "Invalid parameter: scroll is of a search with another query or other parameters");
  }
  if (token.data.at < now - TOKEN_MS) {
    throw new HttpError(400, "Invalid parameter: scroll is older than 24 hours: search again without it");
  }
  return token.data.next;
}

function parse(scroll: string): unknown {
  try {
    return JSON.parse(Buffer.from(scroll, "base64url").toString());
  } catch {
    return undefined;
  }
}
