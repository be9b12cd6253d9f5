import { totalmem } from "node:os";

const MEBIBYTE = 2 ** 20;
const GIBIBYTE = 2 ** 30;

/** Bytes that the parts of Noisefloor may hold unless settings say otherwise. */
export type MemoryLimits = {
  /** What the embedded ClickHouse may allocate: `CLICKHOUSE_MEMORY_MIB`. */
  readonly clickHouse: number;
  /** Answers that their clients have not read yet: `ANSWER_MEMORY_MIB`. */
  readonly answers: number;
  /** Request bodies that have no limit of their own. One may have 1 MiB. */
  readonly bodies: number;
  /** Texts that arrive to be analyzed. One may have 10 MiB, and fits into half of it, the most of one sender. */
  readonly uploads: number;
  /** What searches hold of addresses in this process: `SEARCH_MEMORY_MIB`. A small machine has none to spare. */
  readonly searches: number;
  /**
   * Requests of the intake until they are stored: their bodies, unpacked, and their records. While the store is behind,
   * requests keep their reservations, and further ones get a 503. The largest request fits into half of it, the most of
   * one sender, so that no machine can have less.
   */
  readonly intake: number;
};

/**
 * Shares of a memory, which from 4 GiB on are as large as they get. Limits of a single query, message or insert are not
 * here: what they accept must be the same on every machine.
 */
export function memoryLimits(available: number): MemoryLimits {
  const between = (least: number, share: number, most: number) =>
    Math.min(most, Math.max(least, Math.floor((available * share) / MEBIBYTE))) * MEBIBYTE;
  // On a small machine, this process and npm take up a larger part.
  const shareOfClickHouse = available < 2 * GIBIBYTE ? 0.45 : 0.6;
  return {
    // With less, ClickHouse cannot hold the tables of a store.
    clickHouse: Math.max(160 * MEBIBYTE, Math.floor(available * shareOfClickHouse)),
    answers: between(32, 1 / 16, 256),
    bodies: between(8, 1 / 128, 32),
    uploads: between(24, 1 / 64, 64),
    searches: available < GIBIBYTE ? 0 : between(64, 1 / 16, 256),
    intake: 128 * MEBIBYTE,
  };
}

/** The memory of this machine, or of the container or unit that this process runs in. */
function availableBytes(): number {
  // Without a limit it is 0, or more than any machine has.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

export const MEMORY_LIMITS = memoryLimits(availableBytes());
