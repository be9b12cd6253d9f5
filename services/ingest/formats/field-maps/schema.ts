import { ALL_MEMBERS } from "@noisefloor/domain/observation/members.ts";
import { z } from "zod";
import { IGNORED } from "../format.ts";
import { conditionsSchema } from "./conditions.ts";

/** The members that a field map can fill, by their names there. */
export const MAPPED_MEMBERS = ALL_MEMBERS.flatMap((member) =>
  "maps" in member ? member.maps : "rules" in member ? member.rules : [],
);
export type MappedMember = (typeof MAPPED_MEMBERS)[number];

const member = z.enum(MAPPED_MEMBERS);
const path = z.string().min(1);
const paths = z.union([path, z.array(path).min(1)], "takes a path, or a list of paths");
const scalar = z.union([z.string(), z.number(), z.boolean()], "takes a text, a number, true or false");
const pattern = z.string().min(1);
const ignoredReason = z.enum(Object.keys(IGNORED).filter((key): key is keyof typeof IGNORED => key in IGNORED));

/** The shape of a field map: which field of an unlisted sensor's JSON, text lines or CSV is what. */
export const fieldMapShape = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "takes lower-case letters, digits and -"),
  description: z.string().default("a field map"),
  /** RE2 expressions with named groups, for lines of text: the first that matches names the line's fields. */
  pattern: z
    .union([pattern, z.array(pattern).min(1).max(20)], "takes a regular expression, or a list of 20 at most")
    .optional(),
  /** Whether a web server has escaped what is in the groups, like `\x22` for a quotation mark. */
  escaped: z.boolean().default(false),
  /** Whether times without a zone are UTC, whatever zone the settings give to all sensors. */
  utc: z.boolean().default(false),
  csv: z
    .strictObject({
      /** The names of the columns, for lines before a header; left out, only a header names them. */
      columns: z.array(path).min(1).max(100).optional(),
      delimiter: z.string().length(1, "takes one character").default(","),
    })
    .optional(),
  /** What holds for every record of the sensor; `auto` recognises it by that. */
  recognize: conditionsSchema.default({}),
  /** Records that are no observation, and why: the first entry whose conditions hold. */
  ignore: z.array(z.strictObject({ reason: ignoredReason, when: conditionsSchema })).default([]),
  /** The path of each member's field, or several of which the first that is there counts. */
  fields: z.partialRecord(member, paths),
  /** Values that hold for every record, like `transport: tcp`. */
  constants: z.partialRecord(member, scalar).default({}),
});
export type FieldMap = z.output<typeof fieldMapShape>;
