import { randomBytes } from "node:crypto";

const PREFIX = "whsec_";
/** Of Standard Webhooks. */
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** A secret with which a receiver verifies what a webhook sends. */
export const newSecret = (): string => PREFIX + randomBytes(MIN_BYTES).toString("base64");

/** The key of a secret; undefined for a text that is none. */
export function keyOf(secret: string): Buffer | undefined {
  const base64 = secret.slice(PREFIX.length);
  const key = Buffer.from(base64, "base64");
  const isWhole = key.toString("base64") === base64 && key.length >= MIN_BYTES && key.length <= MAX_BYTES;
  return secret.startsWith(PREFIX) && isWhole ? key : undefined;
}
