import { readFile, rm, stat } from "node:fs/promises";
import { createPrivately } from "./private-file.ts";

/** A start that takes longer has failed. */
const CLAIM_MS = 25_000;

/**
 * Of servers that start at once in one directory one gets the engine's lock, but each of the others, before it finds out,
 * has removed the files with which that one answers its first questions. So one starts at a time; the claim of a process
 * that was killed does not stand for long.
 * @returns whether nobody else starts one. Then the file is the caller's to remove.
 */
export async function claimStart(file: string): Promise<boolean> {
  const claimedAt = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
  if (claimedAt !== undefined) {
    const isYoung = Math.abs(Date.now() - claimedAt) < CLAIM_MS;
    const holder = Number(await readFile(file, "utf8").catch(() => ""));
    if (!isYoung || !isAlive(holder)) await rm(file, { force: true });
  }
  return createPrivately(file, String(process.pid));
}

/** Does a process live? Another container's counts as dead: the engine's lock is there still. */
export function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // One of another user's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
