import { type KnownBlocks, NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import { z } from "zod";

/** Up to where what an owner of rows has stored has been looked at. */
export type OwnerPosition = {
  /** As of `News`. */
  readonly version: string;
  readonly blocks: KnownBlocks;
};
/** By the owners' order: each numbers its blocks by itself. */
export type Position = readonly OwnerPosition[];

export const NOTHING_READ: OwnerPosition = { version: "", blocks: NO_BLOCKS };

const storedSchema = z.array(
  z.object({
    version: z.string(),
    /** Number of a partition, its last block, and others. */
    blocks: z.array(z.tuple([z.int(), z.int(), z.array(z.int())])),
  }),
);

export const formatPosition = (position: Position): string =>
  JSON.stringify(
    position.map(({ version, blocks }) => ({
      version,
      blocks: [...blocks].map(([partition, { upTo, others }]) => [partition, upTo, others]),
    })),
  );

/** @param text as written by {@link formatPosition}; empty for the beginning. */
export function readPosition(text: string): Position {
  if (text === "") return [];
  return storedSchema.parse(JSON.parse(text)).map(({ version, blocks }) => ({
    version,
    blocks: new Map(blocks.map(([partition, upTo, others]) => [partition, { upTo, others }])),
  }));
}
