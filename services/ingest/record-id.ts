import { hash } from "node:crypto";
import type { StreamMessage } from "@noisefloor/kafka/port.ts";

/** Gives a record an id made from its content and its ordinal among equal records. */
export type RecordIds = (content: string) => string;

/**
 * Ids for records that came without one, so that the same file read twice gives the same observations while records
 * that are equal within it stay as many as they are. Memory: about 50 bytes for each distinct record.
 */
export function recordIds(): RecordIds {
  /** How often each content has come, by 52 bits of its digest: a collision costs nothing, ids carry 128. */
  const seen = new Map<number, number>();
  return (content) => {
    const digest = hash("sha256", content, "buffer");
    const key = digest.readUIntBE(0, 6) * 16 + (digest.readUInt8(6) >> 4);
    const ordinal = seen.get(key) ?? 0;
    seen.set(key, ordinal + 1);
    return `file:${digest.toString("hex", 0, 16)}/${ordinal}`;
  };
}

/** What a record of an HTTP request is called when its sensor gave it no id. @param index its place there, from 0. */
export function requestRecordId(origin: string, index: number): string {
  return `http:${origin}/${index}`;
}

/**
 * What a stored observation is called. Keys tell the ids of their senders apart by a tab, which no stated id can hold: no
 * sender can state the id that another key's observation is stored under.
 */
export function observationIdOf(
  stated: string | undefined,
  { fallbackId, idNamespace }: { readonly fallbackId: string; readonly idNamespace?: string | undefined },
): string {
  if (stated === undefined) return fallbackId;
  return idNamespace === undefined ? stated : `${idNamespace}\t${stated}`;
}

/** The header that says under which key a message's records have their ids, as the topic's reader knows no keys. */
export const ID_NAMESPACE_HEADER = "noisefloor-id-namespace";

/** As keys' ids are. Anything else is some other publisher's, of any length. */
const KEY_ID = /^[a-z0-9-]{1,64}$/i;

/** Under which key a message's records have their ids; undefined when whoever published it says nothing of the kind. */
export function givenIdNamespace({ headers }: Pick<StreamMessage, "headers">): string | undefined {
  const given = headers[ID_NAMESPACE_HEADER];
  return given !== undefined && KEY_ID.test(given) ? given : undefined;
}

/** The header in which a message, or the dead letter made of it, says what its records are called. */
export const FALLBACK_ID_HEADER = "noisefloor-fallback-id";

/** Both shapes above. Anything else is some other publisher's, of any length, and would name a thousand records. */
const OWN_ID = /^(?:http:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|file:[0-9a-f]{32})\/\d{1,10}$/;

/** What whoever published a message says that its records are called; undefined when it says nothing of the kind. */
export function givenRecordId({ headers }: Pick<StreamMessage, "headers">): string | undefined {
  const given = headers[FALLBACK_ID_HEADER];
  return given !== undefined && OWN_ID.test(given) ? given : undefined;
}

/**
 * The same for a record of a Kafka message. Its place in the topic is its name, unless whoever published it says of which
 * request it came: the producer may have written the message twice. @param index its place in the message, from 0.
 */
export function messageRecordId(
  message: Pick<StreamMessage, "topic" | "partition" | "offset" | "headers">,
  index: number,
): string {
  const { topic, partition, offset } = message;
  return `${givenRecordId(message) ?? `kafka:${topic}/${partition}/${offset}`}/${index}`;
}
