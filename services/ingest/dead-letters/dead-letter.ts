import type { DeadLetterSource, MessageColumns } from "@noisefloor/clickhouse/dead-letters/dead-letters.ts";
import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import type { Rejection } from "@noisefloor/domain/observation/observation.ts";

/** A record that could not be stored, with its bytes, the reason, and what a retry needs to validate it again. */
export type DeadLetter = {
  readonly source: DeadLetterSource;
  /** The request, file or message that the record came in. */
  readonly origin: string;
  /** Its position there: from 1 in a request or file, from 0 in a message. */
  readonly position: number;
  readonly rejection: Rejection;
  /** At least the first bytes of the record. */
  readonly payload: Buffer;
  /** How many bytes the whole record had. */
  readonly payloadBytes: number;
  /** The observation that was read out of a file's line. */
  readonly value?: unknown;
  readonly sender: Sender;
  /** The sensor that the record names, else its sender's key. */
  readonly sensorId?: string | undefined;
  readonly message?: MessageColumns;
};

/** Stores dead letters. Resolves when they are stored. @param signal ends the wait for a store that is away. */
export type DeadLetterStore = (deadLetters: readonly DeadLetter[], signal?: AbortSignal) => Promise<void>;

/** A payload is stored whole up to here. Whole ones of any size, sent again and again, would fill the disk. */
export const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** What is stored of a record's bytes. */
export function toPayload(bytes: Buffer): Pick<DeadLetter, "payload" | "payloadBytes"> {
  return { payload: bytes.subarray(0, MAX_PAYLOAD_BYTES), payloadBytes: bytes.length };
}
