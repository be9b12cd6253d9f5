import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import { defineStates } from "../records/define-states.ts";

const lagSchema = z.object({
  topic: z.string(),
  messages: z.int(),
  /** When it was seen, in milliseconds since 1970 UTC. */
  seenAt: z.int(),
});

/** How many messages of each topic the intake has not read yet. */
export const consumerLag = defineStates({
  table: "consumer_lag",
  row: lagSchema,
  id: "topic",
  columns: { seenAt: "updated_at" },
});

/** The intake may have been told to read other topics than before. */
const SHOWN_MS = 7 * DAY_MS;

/** Whether the topic was read in the last days. @param now milliseconds since 1970 UTC. */
export const isRecentLag = ({ seenAt }: z.infer<typeof lagSchema>, now: number): boolean => seenAt >= now - SHOWN_MS;
