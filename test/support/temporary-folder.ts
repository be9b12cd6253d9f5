import { existsSync, statfsSync } from "node:fs";

const MEMORY = "/dev/shm";
const LEAST_FREE_BYTES = 4 * 1024 ** 3;

/**
 * Puts the temporary files of tests in memory where there is enough. Each small insert makes dozens of files, which a
 * disk's file system slows down, most of all beside other work.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY)) return;
  const disk = statfsSync(MEMORY);
  if (disk.bavail * disk.bsize >= LEAST_FREE_BYTES) process.env.TMPDIR = MEMORY;
}
