import { z } from "zod";
import { isRoutableIpv4 } from "./ipv4.ts";
import { type PublishRight, scopeToPublish, sensorToPublish } from "./publishing.ts";
import { inOurWords } from "./schema-wording.ts";
import { DATASETS, type Dataset } from "./scope.ts";
import { DAY_MS, retentionStart } from "./window.ts";

/** The largest serialized observation, in bytes. */
export const MAX_OBSERVATION_BYTES = 64 * 1024;
/** The most observations that one Kafka message may carry. */
export const MAX_OBSERVATIONS_PER_MESSAGE = 1000;
/** How far a sensor's clock may run ahead of ours. */
export const MAX_CLOCK_AHEAD_MS = 5 * 60_000;
const MAX_METADATA_BYTES = 8 * 1024;
/** Deeper nesting than anybody means: writing it out again would overflow the stack. */
const MAX_METADATA_DEPTH = 32;

export const TRANSPORTS = ["tcp", "udp", "icmp", "sctp"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/**
 * Half of a surrogate pair, as when a sensor cuts a text in the middle of an emoji, has no spelling in UTF-8: the store
 * would refuse the whole batch that it is in.
 */
const text = (most: number) =>
  z
    .string()
    .max(most)
    .refine((value) => value.isWellFormed(), "must be well-formed Unicode");
const identifier = (most: number) =>
  text(most)
    .min(1)
    .regex(/^[^\p{Cc}]*$/u, "must not contain control characters");
const sensorIdSchema = identifier(128);
const timeSchema = z.iso.datetime({
  offset: true,
  error: "must be an RFC 3339 date-time with a zone, like 2026-11-20T14:03:09.5Z",
});
const port = z.int().min(0).max(65_535);

/**
 * One thing a sensor saw, as it travels: wire schema v1, the one home of its shape and limits. Lengths count Unicode
 * code points. Unknown members are refused rather than dropped: what has no place of its own belongs into `metadata`.
 */
export const observationSchema = z
  .strictObject({
    observed_at: timeSchema.describe("When the sensor saw it; kept to the millisecond."),
    sensor_id: sensorIdSchema
      .optional()
      .describe("Which sensor saw it. Required, unless the sensor's key was made for one sensor: then it is that one."),
    source_ip: text(64).describe("Who was seen: a routable IPv4 address in dotted decimal."),
    observation_id: identifier(128)
      .optional()
      .describe(
        "The sensor's own id for this observation: the same id sent twice is one observation. It names one observation " +
          "for good: never send it again with another time, address or content.",
      ),
    dataset: z
      .enum(DATASETS)
      .optional()
      .describe("Where it belongs. Left out, it is the dataset of the sensor's key, or global."),
    workspace_id: text(64)
      .regex(/^[A-Za-z0-9_-]+$/, "must be letters, digits, _ and -")
      .optional()
      .describe(
        "Whose data it is: for the personal dataset alone, and required there unless the sensor's key says it.",
      ),
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

/** Can a sensor be called so? */
export function isSensorId(text: string): boolean {
  return sensorIdSchema.safeParse(text).success;
}

/** A text as an observation's time in milliseconds since 1970 UTC; undefined when the wire schema would not take it. */
export function parseObservedAt(value: unknown): number | undefined {
  const parsed = timeSchema.safeParse(value);
  return parsed.success ? Date.parse(parsed.data) : undefined;
}

export type WireObservation = z.infer<typeof observationSchema>;

/** The wire schema as JSON Schema 2020-12, for publishers in other languages. */
export function observationJsonSchema(): object {
  return z.toJSONSchema(observationSchema, { io: "input", target: "draft-2020-12" });
}

/** Why a record was not stored. The word goes into dead letters, metrics and answers; never change one's meaning. */
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
  "refused-by-store",
  "unreadable-batch",
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

export type Rejection = {
  readonly reason: RejectionReason;
  /** One sentence for the person who runs the sensor. */
  readonly detail: string;
};

/** What an observation is judged against besides its own shape. `now` is in milliseconds since 1970 UTC. */
export type AcceptanceTerms = {
  readonly now: number;
  readonly retentionDays: number;
  /** Where whoever sent it may write. */
  readonly right: PublishRight;
  /** The one sensor that its sender's key was made for; left out when it may send for any. */
  readonly sensorId?: string | undefined;
};

export type Accepted = {
  /** With the sensor, dataset and workspace that it belongs to, whether it stated them or not. */
  readonly observation: WireObservation & { readonly dataset: Dataset; readonly sensor_id: string };
  readonly observedAt: number;
  /** Whether the sender's key said where it belongs or whose it is: what was sent then must not travel alone. */
  readonly isFilledIn: boolean;
};

/** Judges a parsed JSON value: the observation with its time in milliseconds, or the reason it is refused. */
export function acceptObservation(value: unknown, terms: AcceptanceTerms): Accepted | Rejection {
  if (hasReservedMember(value)) {
    return { reason: "invalid-observation", detail: "the record: a member must not be called __proto__" };
  }
  const parsed = observationSchema.safeParse(value, { error: inOurWords });
  if (!parsed.success) return rejectionFromIssues(parsed.error.issues);
  const observation = parsed.data;
  const sensorId = sensorToPublish(observation.sensor_id, terms.sensorId);
  if (typeof sensorId !== "string") return sensorId;
  if (!isRoutableIpv4(observation.source_ip)) {
    return {
      reason: "source-not-routable",
      detail: `source_ip "${observation.source_ip}" is not a routable IPv4 address`,
    };
  }
  const scope = scopeToPublish(observation, terms.right);
  if ("reason" in scope) return scope;
  const metadataProblem = observation.metadata === undefined ? undefined : judgeMetadata(observation.metadata);
  if (metadataProblem !== undefined) return metadataProblem;
  const observedAt = Date.parse(observation.observed_at);
  if (observedAt > terms.now + MAX_CLOCK_AHEAD_MS) {
    return { reason: "in-the-future", detail: `observed_at ${observation.observed_at} is more than 5 minutes ahead` };
  }
  if (observedAt < retentionStart(terms.now, terms.retentionDays)) {
    const age = Math.floor((terms.now - observedAt) / DAY_MS);
    return {
      reason: "older-than-retention",
      detail: `observed_at ${observation.observed_at} is ${age} days old, ${terms.retentionDays} days are kept`,
    };
  }
  const { dataset, workspaceId } = scope;
  const isRoomFilledIn =
    typeof terms.right === "object" &&
    (observation.dataset === undefined || (observation.workspace_id ?? "") !== workspaceId);
  const isFilledIn = isRoomFilledIn || observation.sensor_id === undefined;
  return {
    observation: {
      ...observation,
      sensor_id: sensorId,
      dataset,
      ...(workspaceId === "" ? {} : { workspace_id: workspaceId }),
    },
    observedAt,
    isFilledIn,
  };
}

/** The schema's library passes over members of this name in silence, and nothing may be dropped in silence. */
function hasReservedMember(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || ("metadata" in value && hasReservedMember(value.metadata));
}

function judgeMetadata(metadata: Record<string, unknown>): Rejection | undefined {
  if (isDeeper(metadata, MAX_METADATA_DEPTH)) {
    return { reason: "oversize", detail: `metadata is nested more than ${MAX_METADATA_DEPTH} levels deep` };
  }
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes <= MAX_METADATA_BYTES) return undefined;
  return { reason: "oversize", detail: `metadata has ${bytes} bytes, at most ${MAX_METADATA_BYTES} are kept` };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

/** The first thing wrong with a value, as a rejection. */
function rejectionFromIssues(issues: readonly z.core.$ZodIssue[]): Rejection {
  const issue = issues[0];
  if (issue === undefined) return { reason: "invalid-observation", detail: "not an observation" };
  const where = issue.path.length > 0 ? issue.path.join(".") : "the record";
  const isTooLong = issue.code === "too_big" && (issue.origin === "string" || issue.origin === "array");
  return { reason: isTooLong ? "oversize" : "invalid-observation", detail: `${where}: ${issue.message}` };
}
