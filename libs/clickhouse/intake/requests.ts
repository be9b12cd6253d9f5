import { z } from "zod";
import { defineStates } from "../records/define-states.ts";

const requestSchema = z.object({
  /** The hash of sender and body: an unsigned 64-bit number, as text. */
  digest: z.string(),
  /** How many of this content were answered: the number of the next one, from 0. */
  answered: z.int(),
  /** When the next one came first; 0 unless that was stored. Milliseconds since 1970 UTC, as the next. */
  beganAt: z.int(),
  updatedAt: z.int(),
});
/** Requests of the HTTP intake with the same content. */
export type IntakeRequests = z.infer<typeof requestSchema>;

export const intakeRequests = defineStates({
  table: "intake_requests",
  row: requestSchema,
  id: "digest",
  idType: "UInt64",
});
