import * as z from "zod";
import { DATASETS } from "../access/scope.ts";
import { MAX_WORKSPACE_ID, WORKSPACE_ID, WORKSPACE_ID_CHARACTERS } from "../access/workspace-id.ts";
import type { Member, MembersOf, MemberType } from "./member.ts";
import { HTTP, SOURCE, SSH, TLS, TRANSPORTS, VISIT } from "./members.ts";

/** The largest serialized observation, in bytes. */
export const MAX_OBSERVATION_BYTES = 64 * 1024;
/** The most observations that one Kafka message may carry. */
export const MAX_OBSERVATIONS_PER_MESSAGE = 1000;
/** The most characters of a request's header lines together. */
export const MAX_HEADER_LINES_LENGTH = 4_096;
export const MAX_LOGIN_ATTEMPTS = 1_000_000;
/** The largest metadata, in bytes as JSON. */
export const MAX_METADATA_BYTES = 8 * 1024;

/**
 * A sensor that cuts a text inside an emoji leaves half a surrogate pair. UTF-8 cannot encode it, so ClickHouse would
 * reject the whole batch.
 */
const text = ({ maxLength = 0 }: Pick<Member, "maxLength">) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed(), "must be well-formed Unicode");
const identifier = (member: Member) =>
  text(member)
    .min(1)
    .regex(/^[^\p{Cc}]*$/u, "must not contain control characters");
export const sensorIdSchema = identifier(VISIT.sensor_id);
const timeSchema = z.iso.datetime({
  offset: true,
  error: "must be an RFC 3339 date-time with a zone, like 2026-11-20T14:03:09.5Z",
});
/** An autonomous system number, also as sensors write it: 14061, "14061" or "AS14061". */
const asnSchema = z
  .union([z.int(), z.string().regex(/^(?:AS)?\d{1,10}$/i, 'must be a number or a text like "AS14061"')])
  .transform((value) => (typeof value === "number" ? value : Number(value.replace(/^AS/i, ""))))
  .pipe(z.int().min(0).max(4_294_967_295));

const listOf = <Entry extends z.ZodType>(entry: Entry, { maxItems = 0 }: Member) => z.array(entry).max(maxItems);

/** The schema of a member of each type; lengths count Unicode code points. */
const SCHEMAS = {
  time: () => timeSchema,
  source: text,
  identifier: (member: Member) => identifier(member).optional(),
  dataset: () => z.enum(DATASETS).optional(),
  workspace: () =>
    text({ maxLength: MAX_WORKSPACE_ID }).regex(WORKSPACE_ID, `must be ${WORKSPACE_ID_CHARACTERS}`).optional(),
  ip_protocol: () => z.enum(TRANSPORTS).optional(),
  port: () => z.int().min(0).max(65_535).optional(),
  tags: (member: Member) => listOf(identifier(member), member).default([]),
  protocol_name: (member: Member) =>
    text(member)
      .regex(/^[a-z0-9][a-z0-9._-]*$/, "must be a lower-case name like ssh")
      .optional(),
  logins: (member: Member) =>
    listOf(z.strictObject({ username: text(member).optional(), password: text(member).optional() }), member).optional(),
  count: () => z.int().min(0).max(MAX_LOGIN_ATTEMPTS).optional(),
  texts: (member: Member) => listOf(text(member), member).optional(),
  identifiers: (member: Member) => listOf(identifier(member), member).optional(),
  digests: (member: Member) =>
    listOf(z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hexadecimal"), member).optional(),
  text: (member: Member) => text(member).optional(),
  lines: (member: Member) =>
    listOf(text(member), member)
      .refine(
        (lines) => lines.reduce((sum, line) => sum + line.length, 0) <= MAX_HEADER_LINES_LENGTH,
        `must have at most ${MAX_HEADER_LINES_LENGTH} characters together`,
      )
      .optional(),
  body: (member: Member) => text(member).optional(),
  as_number: () => asnSchema.optional(),
  country_code: () =>
    z
      .string()
      .regex(/^[A-Z]{2}$/, "must be an ISO 3166-1 alpha-2 code")
      .optional(),
  latitude: () => z.number().min(-90).max(90).optional(),
  longitude: () => z.number().min(-180).max(180).optional(),
  flag: () => z.boolean().optional(),
  object: () => z.record(z.string(), z.unknown()).optional(),
  // The intake finds them: no sender can state any.
  callbacks: () => z.never().optional(),
} satisfies Record<MemberType, (member: Member) => z.ZodType>;

type TypeIn<Table extends MembersOf<Table>> = Table[keyof Table]["type"];

/**
 * The schemas of a table's members by their names, for an object of zod; each has the member's documentation.
 * @param makers what makes the schema of a member of each type that the table has.
 */
export function shapeOf<Table extends MembersOf<Table>, Made extends Readonly<Record<TypeIn<Table>, z.ZodType>>>(
  table: Table,
  makers: { readonly [Type in keyof Made]: (member: Member) => Made[Type] },
) {
  type Shape = { -readonly [Name in keyof Table]: Made[Table[Name]["type"]] };
  const shape: Partial<Shape> = {};
  for (const name in table) {
    const member = table[name];
    const type: Table[typeof name]["type"] = member.type;
    const schema = makers[type](member);
    if (member.doc !== undefined) z.globalRegistry.add(schema, { description: member.doc });
    shape[name] = schema;
  }
  const isWhole = (made: Partial<Shape>): made is Shape => Object.keys(table).every((name) => name in made);
  if (!isWhole(shape)) throw new Error("a member has no schema");
  return shape;
}

const wire = <Table extends MembersOf<Table>>(table: Table) => shapeOf(table, SCHEMAS);

/**
 * One event that a sensor saw, in wire schema v1. Unknown members are rejected, not dropped: anything without a member
 * of its own belongs in `metadata`.
 */
export const observationSchema = z
  .strictObject({
    ...wire(VISIT),
    http: z.strictObject(wire(HTTP)).optional(),
    tls: z.strictObject(wire(TLS)).optional(),
    ssh: z.strictObject(wire(SSH)).optional(),
    ...wire(SOURCE),
  })
  .meta({ id: "Observation", description: "What a sensor saw: wire schema v1." });

/** Is this text valid as a `sensor_id`? */
export function isSensorId(text: string): boolean {
  return sensorIdSchema.safeParse(text).success;
}

/** Parses an `observed_at` to milliseconds since 1970 UTC; undefined when the wire schema would reject it. */
export function parseObservedAt(value: unknown): number | undefined {
  const parsed = timeSchema.safeParse(value);
  return parsed.success ? Date.parse(parsed.data) : undefined;
}

export type WireObservation = z.infer<typeof observationSchema>;

/** The wire schema as JSON Schema 2020-12, for publishers in other languages. */
export function observationJsonSchema(): object {
  return z.toJSONSchema(observationSchema, { io: "input", target: "draft-2020-12" });
}
