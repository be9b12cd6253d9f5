import { z } from "zod";
import { DATASETS } from "../access/scope.ts";
import { MAX_WORKSPACE_ID, WORKSPACE_ID, WORKSPACE_ID_CHARACTERS } from "../access/workspace-id.ts";
import { TRANSPORTS } from "./transports.ts";

/** The largest serialized observation, in bytes. */
export const MAX_OBSERVATION_BYTES = 64 * 1024;
/** The most observations that one Kafka message may carry. */
export const MAX_OBSERVATIONS_PER_MESSAGE = 1000;

/** The most characters of a text. */
export const MAX_LENGTH = {
  identifier: 128,
  credential: 256,
  command: 1_024,
  url: 2_048,
  label: 256,
  method: 32,
  host: 255,
  path: 2_048,
  query: 4_096,
  userAgent: 1_024,
  referer: 2_048,
  fieldName: 128,
  headerLine: 2_048,
  body: 4_096,
  fingerprint: 64,
  banner: 512,
  organization: 256,
  place: 128,
  rdns: 255,
} as const;
/** The most entries of a list. */
export const MAX_ITEMS = {
  tags: 64,
  credentials: 32,
  commands: 64,
  urls: 32,
  payload_sha256: 32,
  labels: 64,
  headers: 64,
  cookies: 64,
  headerLines: 64,
} as const;
/** The most characters of a request's header lines together. */
export const MAX_HEADER_LINES_LENGTH = 4_096;
export const MAX_LOGIN_ATTEMPTS = 1_000_000;
/** The largest metadata, in bytes as JSON. */
export const MAX_METADATA_BYTES = 8 * 1024;

/**
 * A sensor that cuts a text inside an emoji leaves half a surrogate pair. UTF-8 cannot encode it, so ClickHouse would
 * reject the whole batch.
 */
const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed(), "must be well-formed Unicode");
const identifier = (maxLength: number) =>
  text(maxLength)
    .min(1)
    .regex(/^[^\p{Cc}]*$/u, "must not contain control characters");
export const sensorIdSchema = identifier(MAX_LENGTH.identifier);
const timeSchema = z.iso.datetime({
  offset: true,
  error: "must be an RFC 3339 date-time with a zone, like 2026-11-20T14:03:09.5Z",
});
const port = z.int().min(0).max(65_535);
/** An autonomous system number, also as sensors write it: 14061, "14061" or "AS14061". */
const asnSchema = z
  .union([z.int(), z.string().regex(/^(?:AS)?\d{1,10}$/i, 'must be a number or a text like "AS14061"')])
  .transform((value) => (typeof value === "number" ? value : Number(value.replace(/^AS/i, ""))))
  .pipe(z.int().min(0).max(4_294_967_295));

/**
 * One event that a sensor saw, in wire schema v1: the only definition of its shape and limits. Lengths count Unicode
 * code points. Unknown members are rejected, not dropped: anything without a member of its own belongs in `metadata`.
 */
export const observationSchema = z
  .strictObject({
    observed_at: timeSchema.describe("When the sensor saw it; kept to the millisecond."),
    sensor_id: sensorIdSchema
      .optional()
      .describe(
        "The sensor that saw it. Required, unless the sensor key is for one sensor: the default is then that one.",
      ),
    source_ip: text(64).describe("The observed source: a routable IPv4 address in dotted decimal."),
    observation_id: identifier(MAX_LENGTH.identifier)
      .optional()
      .describe(
        "The sensor's own id for this observation: the same id sent twice is one observation. Never send it again with " +
          "another time, address or content.",
      ),
    dataset: z.enum(DATASETS).optional().describe("Its dataset. The default is that of the sensor key, or global."),
    workspace_id: text(MAX_WORKSPACE_ID)
      .regex(WORKSPACE_ID, `must be ${WORKSPACE_ID_CHARACTERS}`)
      .optional()
      .describe("Its workspace: only in the personal dataset, and required there unless the sensor key has one."),
    transport: z.enum(TRANSPORTS).optional(),
    source_port: port.optional(),
    destination_port: port.optional(),
    tags: z
      .array(identifier(MAX_LENGTH.identifier))
      .max(MAX_ITEMS.tags)
      .default([])
      .describe("Tag ids (UUIDs) or slugs from the catalogue."),
    application: text(32)
      .regex(/^[a-z0-9][a-z0-9._-]*$/, "must be a lower-case name like ssh")
      .optional()
      .describe("The application protocol that the sensor recognised or spoke: ssh, telnet, http, smb, ..."),
    session_id: identifier(MAX_LENGTH.identifier)
      .optional()
      .describe(
        "The sensor's own id of the session or flow. All that one sensor sends about one session of one source within a " +
          "day is stored as one observation, to which each record adds what it knows.",
      ),
    credentials: z
      .array(
        z.strictObject({
          username: text(MAX_LENGTH.credential).optional(),
          password: text(MAX_LENGTH.credential).optional(),
        }),
      )
      .max(MAX_ITEMS.credentials)
      .optional()
      .describe("What it tried to log in with."),
    login_attempts: z.int().min(0).max(MAX_LOGIN_ATTEMPTS).optional().describe("How often it tried to log in."),
    commands: z
      .array(text(MAX_LENGTH.command))
      .max(MAX_ITEMS.commands)
      .optional()
      .describe("What it typed into a shell."),
    urls: z.array(text(MAX_LENGTH.url)).max(MAX_ITEMS.urls).optional().describe("What it made the sensor download."),
    payload_sha256: z
      .array(z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hexadecimal"))
      .max(MAX_ITEMS.payload_sha256)
      .optional()
      .describe("Digests of the files that it left."),
    labels: z
      .array(identifier(MAX_LENGTH.label))
      .max(MAX_ITEMS.labels)
      .optional()
      .describe(
        "The sensor's own words, like the names of signatures. Tagging rules match them; none is a tag by itself.",
      ),
    http: z
      .strictObject({
        method: text(MAX_LENGTH.method).optional(),
        host: text(MAX_LENGTH.host).optional(),
        path: text(MAX_LENGTH.path).optional(),
        query: text(MAX_LENGTH.query).optional().describe("What stands after the ? of the request's target."),
        user_agent: text(MAX_LENGTH.userAgent).optional(),
        referer: text(MAX_LENGTH.referer).optional(),
        headers: z
          .array(text(MAX_LENGTH.fieldName))
          .max(MAX_ITEMS.headers)
          .optional()
          .describe("The names of the request's header fields."),
        header_lines: z
          .array(text(MAX_LENGTH.headerLine))
          .max(MAX_ITEMS.headerLines)
          .refine(
            (lines) => lines.reduce((sum, line) => sum + line.length, 0) <= MAX_HEADER_LINES_LENGTH,
            `must have at most ${MAX_HEADER_LINES_LENGTH} characters together`,
          )
          .optional()
          .describe(
            "Header fields with their values, like `X-Api-Version: 1`, without Host, User-Agent and Referer; at most " +
              `${MAX_HEADER_LINES_LENGTH} characters together. Rules match them.`,
          ),
        cookies: z
          .array(text(MAX_LENGTH.fieldName))
          .max(MAX_ITEMS.cookies)
          .optional()
          .describe("The names of its cookies."),
        body: text(MAX_LENGTH.body)
          .optional()
          .describe("The first characters of its body. Rules match them; its digest and a short head are kept."),
      })
      .optional(),
    tls: z
      .strictObject({ ja3: text(MAX_LENGTH.fingerprint).optional(), ja4: text(MAX_LENGTH.fingerprint).optional() })
      .optional(),
    ssh: z
      .strictObject({ hassh: text(MAX_LENGTH.fingerprint).optional(), banner: text(MAX_LENGTH.banner).optional() })
      .optional(),
    asn: asnSchema.optional().describe("Autonomous system number of the source."),
    organization: text(MAX_LENGTH.organization).optional(),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, "must be an ISO 3166-1 alpha-2 code")
      .optional(),
    region: text(MAX_LENGTH.place).optional(),
    city: text(MAX_LENGTH.place).optional(),
    latitude: z.number().min(-90).max(90).optional().describe("Degrees north; of the source."),
    longitude: z.number().min(-180).max(180).optional().describe("Degrees east."),
    rdns: text(MAX_LENGTH.rdns).optional().describe("Reverse DNS name of the source."),
    rdns_validated: z.boolean().optional().describe("Whether that name leads back to the source."),
    metadata: z.record(z.string(), z.unknown()).optional().describe("Anything else, at most 8 KiB as JSON."),
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
