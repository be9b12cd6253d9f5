import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { z } from "zod";

const MAX_ADDRESSES = 10_000;
export const MAX_PAGE_SIZE = 100;

/** As sent: a text that is no address is one that nobody named. */
const addresses = z.array(z.string()).max(MAX_ADDRESSES);
const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z)?$/;
const moment = (what: string) =>
  z
    .string()
    .regex(TIME)
    .meta({ format: "date", description: `${what}: a day, which stands for its first moment, or a time, both in UTC.` })
    .optional();
const text = z.string().min(1).max(1_000);

export const filterSchema = z
  .object({
    is_stage_1: z
      .boolean()
      .describe("Whether visitors told sensors to fetch from it: all that are known here.")
      .optional(),
    is_stage_2: z
      .boolean()
      .describe("Whether it is suspected to control what was fetched: none is known here.")
      .optional(),
    first_seen_after: moment("First seen then or later"),
    first_seen_before: moment("First seen before"),
    last_seen_after: moment("Last seen then or later"),
    last_seen_before: moment("Last seen before"),
    has_files: z.boolean().describe("Whether the digest of a file that was fetched from it is known.").optional(),
    file_type: text.describe("The media type of a file, as the end of its name has it.").optional(),
    file_name: text.describe("A part of a file's name, in any case.").optional(),
    file_hash: text.describe("The SHA-256 of a file.").optional(),
    scanner_ips: addresses.describe("Those that one of these visitors named.").optional(),
    ips: addresses.describe("Of these alone.").optional(),
  })
  .meta({ id: "CallbackFilter" });
export type CallbackFilter = z.output<typeof filterSchema>;

export const pageSchema = filterSchema
  .extend({
    page: z.int().min(0).max(1_000_000).describe("From 0, which is the default.").optional(),
    page_size: z.int().min(1).max(MAX_PAGE_SIZE).describe("20 by default.").optional(),
  })
  .meta({ id: "CallbackPageFilter" });

/** Reads a body that may be left out. @throws HttpError 400 that names the member that is wrong. */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const member = issue?.path.join(".") ?? "";
  throw new HttpError(
    400,
    member === "" ? "The request body must be a JSON object" : `The request body: ${member} is invalid`,
  );
}
