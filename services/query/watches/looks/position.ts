import { type KnownBlocks, NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import { z } from "zod";

/** Up to where what was stored has been looked at. */
export type Position = {
  /** As of `News`. */
  readonly version: string;
  readonly blocks: KnownBlocks;
};

const storedSchema = z.object({
  version: z.string(),
  /** Number of a partition, its last block, and others. */
  blocks: z.array(z.tuple([z.int(), z.int(), z.array(z.int())])),
});

export const formatPosition = ({ version, blocks }: Position): string =>
  JSON.stringify({ version, blocks: [...blocks].map(([partition, { upTo, others }]) => [partition, upTo, others]) });

/** @param text as written by {@link formatPosition}; empty for the beginning. */
export function readPosition(text: string): Position {
  if (text === "") return { version: "", blocks: NO_BLOCKS };
  const { version, blocks } = storedSchema.parse(JSON.parse(text));
  return { version, blocks: new Map(blocks.map(([partition, upTo, others]) => [partition, { upTo, others }])) };
}
