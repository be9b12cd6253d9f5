import { hash } from "node:crypto";
import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import { type DeadLetter, toPayload } from "../../dead-letters/dead-letter.ts";
import type { RejectedRecord } from "../../record.ts";
import type { ReplayRecord } from "./records.ts";

/** Files are the operator's, who may write everywhere. */
const OPERATOR: Sender = { right: "everything" };

/**
 * The dead letter of a file's record. Its origin is the digest of its bytes, so that the same file leads to the same
 * dead letters under another name, unpacked, longer by now or by standard input. Where it stood is in its detail.
 */
export function fileDeadLetter({ record, rejection, sensorId }: RejectedRecord<ReplayRecord>): DeadLetter {
  const { bytes, value, ordinal = 0 } = record;
  return {
    source: "file",
    origin: `sha256:${hash("sha256", bytes).slice(0, 32)}`,
    position: ordinal + 1,
    rejection: {
      reason: rejection.reason,
      detail: `${rejection.detail} (${record.origin.toWellFormed()}, record ${record.position})`,
    },
    sender: OPERATOR,
    sensorId,
    value,
    ...toPayload(bytes),
  };
}
