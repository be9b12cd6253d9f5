import { HttpError } from "@noisefloor/http/errors.ts";
import { z } from "zod";

/** API, operation 5: how many addresses a body may hold, and how large it may be. */
export const MAX_ADDRESSES = 10_000;
export const MAX_BODY_BYTES = 1024 * 1024;

const addressesSchema = z.object({ ips: z.array(z.string()).min(1).max(MAX_ADDRESSES) });

/** The strings of a body `{"ips": [...]}`, addresses or not, as they were sent. Throws a 400 for any other body. */
export function readAddresses(body: unknown): readonly string[] {
  const parsed = addressesSchema.safeParse(body);
  if (parsed.success) return parsed.data.ips;
  throw new HttpError(400, `The request body must be {"ips": [...]} with 1 to ${MAX_ADDRESSES} addresses`);
}
