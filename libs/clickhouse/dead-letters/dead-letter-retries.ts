import { z } from "zod";
import { defineStates } from "../records/define-states.ts";

const retrySchema = z.object({
  id: z.string(),
  /** Milliseconds since 1970 UTC. */
  retriedAt: z.int(),
  isDone: z.boolean(),
  /** Why the retry rejected it again; empty when it was stored. */
  reason: z.string(),
  detail: z.string(),
});
/** The result of a dead letter's last retry. */
export type StoredRetry = z.infer<typeof retrySchema>;

/** The last retries of dead letters, by their ids. */
export const deadLetterRetries = defineStates({
  table: "dead_letter_retries",
  row: retrySchema,
  id: "id",
});
