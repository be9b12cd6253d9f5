import { z } from "zod";
import { defineStates } from "../records/define-states.ts";

const positionSchema = z.object({
  tokenId: z.string(),
  /** Names the list. */
  revision: z.string(),
  /** Milliseconds since 1970 UTC. */
  answeredAt: z.int(),
});
/** What the holder of a token was last told. */
export type StreamPosition = Omit<z.infer<typeof positionSchema>, "tokenId">;

/** The last positions of the holders of tokens, by the ids of these. */
export const streamPositions = defineStates({
  table: "feed_streams",
  row: positionSchema,
  id: "tokenId",
});
