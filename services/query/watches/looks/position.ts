import { type KnownBlocks, NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import { z } from "zod";

/** Up to where what an owner of rows has stored has been looked at. */
export type OwnerPosition = {
  /** As of `News`. */
  readonly version: string;
  readonly blocks: KnownBlocks;
};
export type Position = {
  /** In the owners' order: each numbers its blocks by itself. */
  readonly owners: readonly OwnerPosition[];
  /** When it was read, in milliseconds of `performance.now()`. */
  readonly at: number;
};

export const NOTHING_READ: OwnerPosition = { version: "", blocks: NO_BLOCKS };

/** The log of what was stored has no older ones: each is of five minutes. */
const MAX_PARTITIONS = 10;

const storedSchema = z.object({
  /** How long before its row it was read. */
  ageMs: z.number(),
  owners: z.array(
    z.object({
      version: z.string(),
      /** Number of a partition, its last block, and others. */
      blocks: z.array(z.tuple([z.int(), z.int(), z.array(z.int())])),
    }),
  ),
});

/** For a row of the log that is written now. */
export const formatPosition = ({ owners, at }: Position): string =>
  JSON.stringify({
    ageMs: performance.now() - at,
    owners: owners.map(({ version, blocks }) => ({
      version,
      blocks: [...blocks].slice(0, MAX_PARTITIONS).map(([partition, { upTo, others }]) => [partition, upTo, others]),
    })),
  });

/**
 * @param text as written by {@link formatPosition}; empty for the beginning.
 * @param rowAgeMs how long ago that was.
 */
export function readPosition(text: string, rowAgeMs: number): Position {
  if (text === "") return { owners: [], at: performance.now() - rowAgeMs };
  const { ageMs, owners } = storedSchema.parse(JSON.parse(text));
  return {
    at: performance.now() - rowAgeMs - ageMs,
    owners: owners.map(({ version, blocks }) => ({
      version,
      blocks: new Map(blocks.map(([partition, upTo, others]) => [partition, { upTo, others }])),
    })),
  };
}
