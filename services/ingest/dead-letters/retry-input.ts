import { idNamespaceOf, parseRight, type Sender } from "@noisefloor/domain/access/publishing.ts";
import type { Rejection, RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import { splitMessage } from "../formats/json/split.ts";
import type { IncomingRecord } from "../record.ts";
import { idNamespaceOfMessage, messageRecordId, requestRecordId } from "../record-id.ts";
import type { OpenedDeadLetter } from "./read.ts";

/** What a retry validates, or why it cannot. */
export type RetryInput =
  | {
      readonly kind: "records";
      /** With the ids of their first intake: a dead letter that is stored twice is the same observation. */
      readonly records: readonly IncomingRecord[];
      readonly sender: Sender;
    }
  /** A message that still cannot be split into records. */
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  | { readonly kind: "impossible"; readonly why: string };

/** For these reasons the payload may be a whole message, which could not be split into records. */
const WHOLE_MESSAGE_REASONS: ReadonlySet<string> = new Set<RejectionReason>(["not-json", "too-many-observations"]);
/** For this reason the payload is a batch of messages that could not be read. */
const UNREADABLE_BATCH: RejectionReason = "unreadable-batch";

export function toRetryInput(deadLetter: OpenedDeadLetter): RetryInput {
  const { source, payload, payloadBytes } = deadLetter;
  if (deadLetter.firstReason === UNREADABLE_BATCH) {
    return impossible("its batch could not be read: its sensor has to send it again, packed otherwise");
  }
  if (payload.length < payloadBytes) {
    const instead = source === "file" ? "replay its file instead" : "its sensor has to send it again, in parts";
    return impossible(`only the first ${payload.length} of its ${payloadBytes} bytes are stored: ${instead}`);
  }
  const sender = senderOf(deadLetter);
  if (sender === undefined) return impossible(`"${deadLetter.publishRight}" is no right to publish`);
  if (source === "http") return requestRecord(deadLetter, sender);
  return source === "kafka" ? messageRecords(deadLetter, sender) : fileRecord(deadLetter, sender);
}

const impossible = (why: string): RetryInput => ({ kind: "impossible", why });

function senderOf({ publishRight, keyId, keySensorId }: OpenedDeadLetter): Sender | undefined {
  const right = parseRight(publishRight);
  return right && { right, keyId: keyId || undefined, sensorId: keySensorId || undefined };
}

function requestRecord({ origin, position, payload: bytes, value }: OpenedDeadLetter, sender: Sender): RetryInput {
  const fallbackId = requestRecordId(origin, position - 1);
  return {
    kind: "records",
    records: [{ bytes, ...decoded(value), fallbackId, idNamespace: idNamespaceOf(sender) }],
    sender,
  };
}

/** The observation that was read out of a record in a sensor's own format. */
function decoded(value: string): { readonly value?: unknown } {
  return value === "" ? {} : { value: JSON.parse(value) };
}

/**
 * The observation that was read out of the line is validated: the line itself says neither its format nor by how much
 * its time was shifted, and the id comes from both.
 */
function fileRecord({ payload: bytes, value }: OpenedDeadLetter, sender: Sender): RetryInput {
  if (value === "") return impossible("no observation could be read out of it: replay its file, if it came from one");
  return { kind: "records", records: [{ bytes, ...decoded(value), fallbackId: "" }], sender };
}

function messageRecords(deadLetter: OpenedDeadLetter, sender: Sender): RetryInput {
  const { message, position, payload, firstReason, value } = deadLetter;
  if (message === undefined) return impossible("its message's topic was not stored");
  const isWhole = position === 0 && WHOLE_MESSAGE_REASONS.has(firstReason);
  const parts = isWhole ? splitMessage(payload) : [payload];
  if ("reason" in parts) return { kind: "rejected", rejection: parts };
  const idNamespace = idNamespaceOfMessage(message);
  const records = parts.map((bytes, index) => ({
    bytes,
    ...decoded(value),
    fallbackId: messageRecordId(message, position + index),
    idNamespace,
  }));
  return { kind: "records", records, sender };
}
