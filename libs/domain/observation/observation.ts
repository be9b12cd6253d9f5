import { type PublishRight, scopeToPublish, sensorToPublish } from "../access/publishing.ts";
import type { Dataset } from "../access/scope.ts";
import { isRoutableIpv4 } from "../address/ipv4.ts";
import { isIpv6, mappedIpv4 } from "../address/ipv6.ts";
import { DAY_MS, retentionStart } from "../time/window.ts";
import { isPlainObservation } from "./compiled-schema.ts";
import { formatIssue } from "./format-issue.ts";
import { MAX_METADATA_BYTES, observationSchema, type WireObservation } from "./schema.ts";

/** How far a sensor's clock may be ahead of this machine's. */
export const MAX_CLOCK_AHEAD_MS = 5 * 60_000;
/** Serialising deeply nested metadata would overflow the stack. */
const MAX_METADATA_DEPTH = 32;

/** Why a record was rejected. Dead letters, metrics and responses contain these words: never change a meaning. */
export const REJECTION_REASONS = [
  "not-json",
  "unknown-format",
  "no-source",
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
  const observation = parseObservation(value);
  if (observation === undefined) return explainInvalid(value);
  const sensorId = sensorToPublish(observation.sensor_id, criteria.sensorId);
  if (typeof sensorId !== "string") return sensorId;
  if (!isRoutableIpv4(observation.source_ip)) {
    const detail = `source_ip "${observation.source_ip}" ${explainSource(observation.source_ip)}`;
    return { reason: "source-not-routable", detail };
  }
  const scope = scopeToPublish(observation, criteria.right);
  if ("reason" in scope) return scope;
  const metadataProblem = observation.metadata === undefined ? undefined : validateMetadata(observation.metadata);
  if (metadataProblem !== undefined) return metadataProblem;
  const observedAt = Date.parse(observation.observed_at);
  if (observedAt > criteria.now + MAX_CLOCK_AHEAD_MS) {
    const clock = new Date(criteria.now).toISOString().slice(11, 19);
    return {
      reason: "in-the-future",
      detail: `observed_at ${observation.observed_at} is more than 5 minutes ahead (server clock is ${clock}Z; check NTP on both)`,
    };
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
  return { observation: Object.assign(observation, { sensor_id: sensorId, dataset }), observedAt, isFilledIn };
}

function explainSource(address: string): string {
  const mapped = mappedIpv4(address);
  if (mapped !== undefined) return `is ${mapped} mapped into IPv6: dotted decimal is expected`;
  if (isIpv6(address)) return "is an IPv6 address: IPv6 is not supported";
  if (/^[\d.]+:\d+$/.test(address)) return "has a port behind the address: source_port takes it";
  return "is not a routable IPv4 address";
}

/** The observation as an object of its own, which may be changed; undefined when the wire schema does not allow it. */
function parseObservation(value: unknown): WireObservation | undefined {
  if (isPlainObservation(value)) return { ...value, tags: value.tags ?? [] };
  // Without an error map zod is faster.
  return observationSchema.safeParse(value).data;
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
  if (issue.code === "unrecognized_keys") {
    const names = issue.keys.map((name) => `"${[...issue.path, name].join(".")}"`);
    const detail = `unknown field${names.length === 1 ? "" : "s"} ${names.join(", ")} (see noisefloor schema)`;
    return { reason: "invalid-observation", detail };
  }
  const where = issue.path.length > 0 ? issue.path.join(".") : "the record";
  const isTooLong = issue.code === "too_big" && (issue.origin === "string" || issue.origin === "array");
  return { reason: isTooLong ? "oversize" : "invalid-observation", detail: `${where}: ${issue.message}` };
}
