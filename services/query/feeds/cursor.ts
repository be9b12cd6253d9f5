import { HttpError } from "@noisefloor/http/responses/errors.ts";

/** A revision as readers see it: opaque, the same for all forms. */
export function formatCursor(revision: string): string {
  return Buffer.from(revision.replaceAll("-", ""), "hex").toString("base64url");
}

const CURSOR = /^[A-Za-z0-9_-]{21}[AQgw]$/;

/** The revision of a cursor, which need not be one of the feed. @throws HttpError 400 for a text that is no cursor. */
export function parseCursor(text: string): string {
  if (!CURSOR.test(text)) throw new HttpError(400, "Invalid parameter: since takes the Feed-Cursor of an answer");
  const hex = Buffer.from(text, "base64url").toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
