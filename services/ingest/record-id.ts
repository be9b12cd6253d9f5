import { hash } from "node:crypto";
import type { StreamMessage } from "@noisefloor/kafka/port/port.ts";

/** Makes a record's id of its content and its ordinal among equal records. */
export type RecordIds = (content: string) => string;

/** Distinct records of which the ordinals are known, at least. Pipes have no end, and V8's maps hold 16 million. */
const MAX_DISTINCT = 4_000_000;

/**
 * Ids for records that came without one, so that the same file read twice gives the same observations while records
 * that are equal within it stay as many as they are, unless `maxDistinct` others came between them. Memory: about 50
 * bytes for each distinct record, up to twice `maxDistinct`.
 */
export function recordIds(maxDistinct = MAX_DISTINCT): RecordIds {
  /** How often each content has come, by 52 bits of its digest: a collision costs nothing, ids carry 128. */
  let seen = new Map<number, number>();
  let seenBefore = new Map<number, number>();
  return (content) => {
    const digest = hash("sha256", content, "buffer");
    const key = digest.readUIntBE(0, 6) * 16 + (digest.readUInt8(6) >> 4);
    const ordinal = seen.get(key) ?? seenBefore.get(key) ?? 0;
    if (seen.size >= maxDistinct) [seenBefore, seen] = [seen, new Map()];
    seen.set(key, ordinal + 1);
    return `file:${digest.toString("hex", 0, 16)}/${ordinal}`;
  };
}

/** The id of an HTTP request's record whose sensor gave it none. @param index its position there, from 0. */
export function requestRecordId(origin: string, index: number): string {
  return `http:${origin}/${index}`;
}

/**
 * The id that an observation is stored under. A tab, which no stated id can contain, separates it from its key: no
 * sender can state an id under which another key's observation is stored.
 */
export function observationIdOf(
  stated: string | undefined,
  { fallbackId, idNamespace }: { readonly fallbackId: string; readonly idNamespace?: string | undefined },
): string {
  if (stated === undefined) return fallbackId;
  return idNamespace === undefined ? stated : `${idNamespace}\t${stated}`;
}

/** The header that names the key within which a message's ids are unique: the topic's consumer knows no keys. */
export const ID_NAMESPACE_HEADER = "noisefloor-id-namespace";

/** The shape of a key's id. Anything else comes from another publisher, and may have any length. */
const KEY_ID = /^[a-z0-9-]{1,64}$/i;

/** The key within which a message's ids are unique; undefined when no header names one. */
export function idNamespaceOfMessage({ headers }: Pick<StreamMessage, "headers">): string | undefined {
  const given = headers[ID_NAMESPACE_HEADER];
  return given !== undefined && KEY_ID.test(given) ? given : undefined;
}

/** The header with the id of a message's record whose sensor gave it none. */
export const FALLBACK_ID_HEADER = "noisefloor-fallback-id";

/**
 * The shapes of `requestRecordId` and `recordIds`. Anything else may have any length, and would be in a thousand ids.
 */
const OWN_ID = /^(?:http:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|file:[0-9a-f]{32})\/\d{1,10}$/;

/** The id that a message's header gives its record; undefined when there is none. */
export function fallbackIdOfMessage({ headers }: Pick<StreamMessage, "headers">): string | undefined {
  const given = headers[FALLBACK_ID_HEADER];
  return given !== undefined && OWN_ID.test(given) ? given : undefined;
}

/**
 * The id of a message's record whose sensor gave it none: its position in the topic, unless a header gives one, for the
 * producer may have written the message twice. @param index its position in the message, from 0.
 */
export function messageRecordId(
  message: Pick<StreamMessage, "topic" | "partition" | "offset" | "headers">,
  index: number,
): string {
  const { topic, partition, offset } = message;
  return `${fallbackIdOfMessage(message) ?? `kafka:${topic}/${partition}/${offset}`}/${index}`;
}
