import type { Rejection, ValidObservation } from "@noisefloor/domain/observation/observation.ts";

/** One record of a source, not validated yet. */
export type IncomingRecord = {
  /** The bytes as they came, for the dead letter. */
  readonly bytes: Buffer;
  /** The observation's id if its sensor gave it none. A redelivery must lead to the same one. */
  readonly fallbackId: string;
  /** The key within which the id that its sensor gave it is unique; left out where its sensor alone is. */
  readonly idNamespace?: string | undefined;
  /** The observation read out of `bytes`, when they are in another format or do not say where it belongs. */
  readonly value?: unknown;
  /** Why its format cannot read it. */
  readonly rejection?: Rejection | undefined;
  /** The name of its format; left out, it is an observation of the wire schema. */
  readonly format?: string | undefined;
  /** Its time names no zone and was read as UTC. */
  readonly isZoneless?: true | undefined;
  /** Its time is when the sensor gave up waiting for an answer. */
  readonly isLate?: true | undefined;
  /** Our own intake has published it, and counted it for its sensor there. */
  readonly isCounted?: true | undefined;
};

export type RejectedRecord<R extends IncomingRecord> = {
  readonly record: R;
  readonly rejection: Rejection;
  /** The sensor that it names, else its sender's key; left out when neither does. */
  readonly sensorId?: string | undefined;
};

export type AcceptedRecord<R extends IncomingRecord> = {
  /** With a value where the sender's right said what its bytes leave out. */
  readonly record: R;
  readonly valid: ValidObservation;
  /** The ids of the tags that its sender gave it, without repetition. */
  readonly tagIds: readonly string[];
};

/** What became of the records of a batch: each is accepted or rejected. */
export type IngestedRecords<R extends IncomingRecord> = {
  readonly accepted: readonly AcceptedRecord<R>[];
  readonly rejected: readonly RejectedRecord<R>[];
};
