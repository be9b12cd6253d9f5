import { type DeadLetter, toPayload } from "../../dead-letters/dead-letter.ts";
import type { IncomingRecord, RejectedRecord } from "../../record.ts";
import { digestOf } from "./records.ts";

/** The dead letter of a published record. */
export function feedDeadLetter({
  record: { bytes, value },
  rejection,
  sensorId,
}: RejectedRecord<IncomingRecord>): DeadLetter {
  return {
    source: "hpfeeds",
    origin: `hpfeeds:${digestOf(bytes)}`,
    position: 0,
    rejection,
    sender: { right: "everything" },
    sensorId,
    value,
    ...toPayload(bytes),
  };
}
