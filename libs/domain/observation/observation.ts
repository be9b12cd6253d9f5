import { z } from "zod";
import { type PublishRight, scopeToPublish, sensorToPublish } from "../access/publishing.ts";
import { DATASETS, type Dataset } from "../access/scope.ts";
import { isRoutableIpv4 } from "../address/ipv4.ts";
import { DAY_MS, retentionStart } from "../time/window.ts";
import { formatIssue } from "./format-issue.ts";

/** The largest serialized observation, in bytes. */
export const MAX_OBSERVATION_BYTES = 64 * 1024;
/** The most observations that one Kafka message may carry. */
export const MAX_OBSERVATIONS_PER_MESSAGE = 1000;
/** How far a sensor's clock may be ahead of this machine's. */
export const MAX_CLOCK_AHEAD_MS = 5 * 60_000;
const MAX_METADATA_BYTES = 8 * 1024;
/** Serialising deeply nested metadata would overflow the stack. */
const MAX_METADATA_DEPTH = 32;

export const TRANSPORTS = ["tcp", "udp", "icmp", "sctp"] as const;
export type Transport = (typeof TRANSPORTS)[number];

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
const sensorIdSchema = identifier(128);
const timeSchema = z.iso.datetime({
  offset: true,
  error: "must be an RFC 3339 date-time with a zone, like 2026-11-20T14:03:09.5Z",
});
const port = z.int().min(0).max(65_535);

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
    observation_id: identifier(128)
      .optional()
      .describe(
        "The sensor's own id for this observation: the same id sent twice is one observation. Never send it again with " +
          "another time, address or content.",
      ),
    dataset: z.enum(DATASETS).optional().describe("Its dataset. The default is that of the sensor key, or global."),
    workspace_id: text(64)
      .regex(/^[A-Za-z0-9_-]+$/, "must be letters, digits, _ and -")
      .optional()
      .describe("Its workspace: only in the personal dataset, and required there unless the sensor key has one."),
    transport: z.enum(TRANSPORTS).optional(),
    source_port: port.optional(),
    destination_port: port.optional(),
    tags: z.array(identifier(128)).max(64).default([]).describe("Tag ids (UUIDs) or slugs from the catalogue."),
    http: z
      .strictObject({
        method: text(32).optional(),
        host: text(255).optional(),
        path: text(2048).optional(),
        user_agent: text(1024).optional(),
      })
      .optional(),
    tls: z.strictObject({ ja3: text(64).optional(), ja4: text(64).optional() }).optional(),
    ssh: z.strictObject({ hassh: text(64).optional(), banner: text(512).optional() }).optional(),
    asn: z.int().min(0).max(4_294_967_295).optional().describe("Autonomous system number of the source."),
    organization: text(256).optional(),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, "must be an ISO 3166-1 alpha-2 code")
      .optional(),
    city: text(128).optional(),
    rdns: text(255).optional().describe("Reverse DNS name of the source."),
    metadata: z.record(z.string(), z.unknown()).optional().describe("Anything else, at most 8 KiB as JSON."),
  })
  .meta({ id: "Observation", title: "Noisefloor observation, wire schema v1" });

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

/** Why a record was rejected. Dead letters, metrics and responses contain these words: never change a meaning. */
export const REJECTION_REASONS = [
  "not-json",
  "invalid-observation",
  "oversize",
  "too-many-observations",
  "source-not-routable",
  "in-the-future",
  "older-than-retention",
  "unknown-tag",
  "not-permitted",
  "rejected-by-store",
  "unreadable-batch",
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

export type Rejection = {
  readonly reason: RejectionReason;
  /** One sentence for the operator of the sensor. */
  readonly detail: string;
};

/** What an observation is validated against besides the schema. `now` is in milliseconds since 1970 UTC. */
export type ValidationCriteria = {
  readonly now: number;
  readonly retentionDays: number;
  /** Where its sender may write. */
  readonly right: PublishRight;
  /** The one sensor that its sender's key is for; absent when the key may send for any. */
  readonly sensorId?: string | undefined;
};

export type ValidObservation = {
  /** Complete: with its sensor, dataset and workspace, stated or filled in. */
  readonly observation: WireObservation & { readonly dataset: Dataset; readonly sensor_id: string };
  readonly observedAt: number;
  /** Whether the sender's key supplied the sensor or the scope, so that the bytes received are not complete. */
  readonly isFilledIn: boolean;
};

/** Validates a parsed JSON value. @returns the observation with its time in milliseconds, or a rejection. */
export function validateObservation(value: unknown, criteria: ValidationCriteria): ValidObservation | Rejection {
  if (hasReservedMember(value)) {
    return { reason: "invalid-observation", detail: "the record: a member must not be called __proto__" };
  }
  // Without an error map zod takes half the time, and nearly all observations are valid.
  const parsed = observationSchema.safeParse(value);
  if (!parsed.success) return explainInvalid(value);
  const observation = parsed.data;
  const sensorId = sensorToPublish(observation.sensor_id, criteria.sensorId);
  if (typeof sensorId !== "string") return sensorId;
  if (!isRoutableIpv4(observation.source_ip)) {
    return {
      reason: "source-not-routable",
      detail: `source_ip "${observation.source_ip}" is not a routable IPv4 address`,
    };
  }
  const scope = scopeToPublish(observation, criteria.right);
  if ("reason" in scope) return scope;
  const metadataProblem = observation.metadata === undefined ? undefined : validateMetadata(observation.metadata);
  if (metadataProblem !== undefined) return metadataProblem;
  const observedAt = Date.parse(observation.observed_at);
  if (observedAt > criteria.now + MAX_CLOCK_AHEAD_MS) {
    return { reason: "in-the-future", detail: `observed_at ${observation.observed_at} is more than 5 minutes ahead` };
  }
  if (observedAt < retentionStart(criteria.now, criteria.retentionDays)) {
    const age = Math.floor((criteria.now - observedAt) / DAY_MS);
    return {
      reason: "older-than-retention",
      detail: `observed_at ${observation.observed_at} is ${age} days old, ${criteria.retentionDays} days are kept`,
    };
  }
  const { dataset, workspaceId } = scope;
  const isScopeFilledIn =
    typeof criteria.right === "object" &&
    (observation.dataset === undefined || (observation.workspace_id ?? "") !== workspaceId);
  const isFilledIn = isScopeFilledIn || observation.sensor_id === undefined;
  if (workspaceId !== "") observation.workspace_id = workspaceId;
  // zod has made this object for us alone, and a copy of each would take a tenth of ingest's time.
  return { observation: Object.assign(observation, { sensor_id: sensorId, dataset }), observedAt, isFilledIn };
}

/** zod drops members of this name silently, and no member may be dropped silently. */
function hasReservedMember(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || ("metadata" in value && hasReservedMember(value.metadata));
}

function validateMetadata(metadata: Record<string, unknown>): Rejection | undefined {
  if (isDeeper(metadata, MAX_METADATA_DEPTH)) {
    return { reason: "oversize", detail: `metadata is nested more than ${MAX_METADATA_DEPTH} levels deep` };
  }
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes <= MAX_METADATA_BYTES) return undefined;
  return { reason: "oversize", detail: `metadata has ${bytes} bytes, at most ${MAX_METADATA_BYTES} are allowed` };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

/** Only the first issue: a detail is one sentence. */
function explainInvalid(value: unknown): Rejection {
  const issue = observationSchema.safeParse(value, { error: formatIssue }).error?.issues[0];
  if (issue === undefined) return { reason: "invalid-observation", detail: "not an observation" };
  const where = issue.path.length > 0 ? issue.path.join(".") : "the record";
  const isTooLong = issue.code === "too_big" && (issue.origin === "string" || issue.origin === "array");
  return { reason: isTooLong ? "oversize" : "invalid-observation", detail: `${where}: ${issue.message}` };
}
