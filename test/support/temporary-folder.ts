import { existsSync, statfsSync } from "node:fs";

const MEMORY = "/dev/shm";
const LEAST_FREE_BYTES = 4 * 1024 ** 3;

/**
 * Puts the temporary files of tests in memory where there is enough. Each small insert makes dozens of files, and ext4
 * without a journal looks for inodes that were not deleted lately: that took a quarter of the CPU time of an insert,
 * and beside other work an insert waited for a locked folder for up to a second.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY)) return;
  const disk = statfsSync(MEMORY);
  if (disk.bavail * disk.bsize >= LEAST_FREE_BYTES) process.env.TMPDIR = MEMORY;
}
