import { type DeadLetter, toPayload } from "../../dead-letters/dead-letter.ts";
import type { RejectedRecord } from "../../record.ts";
import type { RequestRecord } from "./records.ts";

/** The dead letter of a request's record. */
export function requestDeadLetter({ record, rejection, sensorId }: RejectedRecord<RequestRecord>): DeadLetter {
  const { origin, position, sender, bytes, value } = record;
  return { source: "http", origin, position, rejection, sender, sensorId, value, ...toPayload(bytes) };
}
