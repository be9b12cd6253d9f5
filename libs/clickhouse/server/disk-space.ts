import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { z } from "zod";
import { openPollingCache, type PollingOptions } from "../caches/polling-cache.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { explainMissingRight, StoreError, StoreFullError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { OWN_DATABASE } from "../client/table-names.ts";

/** The disk with the most free space among those that hold the observations: the server writes there next. */
const diskSpace = defineQuery({
  name: "disk-space",
  sql: `SELECT max(free_space) AS freeBytes, argMax(total_space, free_space) AS totalBytes FROM system.disks
    CROSS JOIN (
      SELECT arrayFlatten(groupArray(data_paths)) AS stored
      FROM system.tables WHERE database = ${OWN_DATABASE} AND name = 'observations'
    ) AS observations
    WHERE arrayExists(one -> startsWith(one, path), stored)
    HAVING count() > 0`,
  // The fullest of several servers counts.
  combine: (results) => `
      SELECT min(result.freeBytes) AS freeBytes, argMin(result.totalBytes, result.freeBytes) AS totalBytes
      FROM ${results} AS result HAVING count() > 0`,
  params: z.object({}),
  // Not integers: object storage reports 2^64 bytes.
  row: z.object({ freeBytes: z.number(), totalBytes: z.number() }),
});

export type DiskSpace = { readonly freeBytes: number; readonly totalBytes: number };

/** The free space of the store's disk, kept in memory, so that checking it costs no query. */
export type DiskGuard = {
  /** Undefined while the server does not report it. */
  freeBytes(): number | undefined;
  /** Minimum free disk space; inserts are refused below it. */
  floorBytes(): number | undefined;
  /** @throws StoreFullError below the floor. */
  assertSpace(): void;
  /** Seconds since the server last reported it. */
  ageSeconds(): number;
  stop(): void;
};

export type DiskGuardOptions = PollingOptions & {
  /** Left out, 2 % of the disk and at least 256 MiB. */
  readonly floorBytes?: number | undefined;
  /** Called once when the server does not report it, as to a user without the right: then there is no floor. */
  readonly onUnknown?: (error: unknown) => void;
  /** Called when the free space has fallen below the floor or risen above it again. */
  readonly onFloor?: (isBelow: boolean, freeBytes: number) => void;
};

const POLL_MS = 5_000;
const MIN_FLOOR_BYTES = 256 * 1024 * 1024;

/** Minimum free disk space in bytes, when no setting says otherwise. */
export function floorOf({ totalBytes }: DiskSpace): number {
  return Math.max(MIN_FLOOR_BYTES, Math.floor(totalBytes / 50));
}

/** @returns the reason, when the server answers and does not report it. */
export async function readDiskSpace(client: ClickHouseClient): Promise<DiskSpace | StoreError> {
  try {
    const [space] = await run(client, diskSpace, {});
    return space ?? new StoreError("none of the server's disks holds the table observations");
  } catch (error) {
    const denied = explainMissingRight(error);
    if (denied === undefined) throw error;
    return denied;
  }
}

/** Polls how much space the store's disk has left. */
export async function openDiskGuard(client: ClickHouseClient, options: DiskGuardOptions = {}): Promise<DiskGuard> {
  let isUnknown = false;
  let latest: DiskSpace | undefined;
  let isBelow = false;
  const floorFor = (space: DiskSpace) => options.floorBytes ?? floorOf(space);
  const read = async () => {
    const found = await readDiskSpace(client);
    latest = found instanceof Error ? undefined : found;
    if (found instanceof Error && !isUnknown) options.onUnknown?.(found);
    isUnknown = found instanceof Error;
    const wasBelow = isBelow;
    isBelow = latest !== undefined && latest.freeBytes < floorFor(latest);
    if (latest !== undefined && isBelow !== wasBelow) options.onFloor?.(isBelow, latest.freeBytes);
    return JSON.stringify(latest ?? null);
  };
  const { current, ageSeconds, stop } = await openPollingCache(read, async () => latest, {
    intervalMs: POLL_MS,
    ...options,
  });
  return {
    freeBytes: () => current()?.freeBytes,
    floorBytes: () => {
      const space = current();
      return space && floorFor(space);
    },
    assertSpace() {
      const space = current();
      if (space !== undefined && space.freeBytes < floorFor(space)) {
        throw new StoreFullError(
          `the disk of the store has ${formatBytes(space.freeBytes)} free, less than the ${formatBytes(floorFor(space))} that are kept free`,
        );
      }
    },
    ageSeconds,
    stop,
  };
}
