import type { PublishRight } from "@noisefloor/domain/access/publishing.ts";
import { type DeadLetter, toPayload } from "../../dead-letters/dead-letter.ts";
import type { IncomingRecord, RejectedRecord } from "../../record.ts";

/** No sender shows a key: what anybody without one may publish. */
export const SYSLOG_RIGHT: PublishRight = "shared-datasets";

/** The dead letter of a message's record. */
export function syslogDeadLetter({
  record: { bytes, value, fallbackId },
  rejection,
  sensorId,
}: RejectedRecord<IncomingRecord>): DeadLetter {
  return {
    source: "syslog",
    origin: fallbackId,
    position: 0,
    rejection,
    sender: { right: SYSLOG_RIGHT },
    sensorId,
    value,
    ...toPayload(bytes),
  };
}
