import type { Parameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { metadataSchema, rawDataSchema, scannerSchema } from "../address/schema.ts";

/** The members of a row's scanner part that a caller can leave out. */
const MEMBERS = new Set([
  ...Object.keys(scannerSchema.shape),
  ...Object.keys(metadataSchema.shape).map((name) => `metadata.${name}`),
  ...Object.keys(rawDataSchema.shape).map((name) => `raw_data.${name}`),
]);

/** Members to leave out, each with its parent's name before it: `tags`, `metadata.organization`. */
export const EXCLUDE: Parameter<ReadonlySet<string>> = {
  name: "exclude",
  description: "Members of `internet_scanner_intelligence` that rows do not have, separated by commas.",
  takes: "members of a row such as tags, metadata.organization or raw_data.ja3, separated by commas",
  schema: z
    .string()
    .default("")
    .transform((text) => new Set(text.split(",").flatMap((part) => part.trim() || [])))
    .refine((names) => [...names].every((name) => MEMBERS.has(name))),
  describedBy: "input",
  example: "tags,raw_data.ja3",
};

/** A row's scanner part, of which any member may be left out. */
export const partialScannerSchema = scannerSchema
  .extend({ metadata: metadataSchema.partial(), raw_data: rawDataSchema.partial() })
  .partial()
  .meta({ id: "PartialScanner", description: "The members that were not excluded." });

type Scanner = z.input<typeof scannerSchema>;

/** The scanner part without some members. */
export function withoutMembers(scanner: Scanner, names: ReadonlySet<string>): z.input<typeof partialScannerSchema> {
  if (names.size === 0) return scanner;
  const keep = (parent: string, members: object) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(parent + name)));
  const { metadata, raw_data, ...others } = scanner;
  return {
    ...keep("", others),
    ...(names.has("metadata") ? {} : { metadata: keep("metadata.", metadata) }),
    ...(names.has("raw_data") ? {} : { raw_data: keep("raw_data.", raw_data) }),
  };
}
