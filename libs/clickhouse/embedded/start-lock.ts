import { readFile, rm, stat } from "node:fs/promises";
import { createPrivately } from "./private-file.ts";

/** A start that takes longer has failed. */
const LOCK_MS = 25_000;

/**
 * Takes the lock file that lets one process at a time start a server in a data directory. The engine's own lock is not
 * enough: a server that fails to get it has already removed files that the other one starts with. The lock of a process
 * that was killed expires.
 * @returns whether the caller has it now, and removes it after the start.
 */
export async function acquireStartLock(file: string): Promise<boolean> {
  const lockedAt = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
  if (lockedAt !== undefined) {
    const isYoung = Math.abs(Date.now() - lockedAt) < LOCK_MS;
    const holder = Number(await readFile(file, "utf8").catch(() => ""));
    if (!isYoung || !isAlive(holder)) await rm(file, { force: true });
  }
  return createPrivately(file, String(process.pid));
}

/**
 * Whether a process lives. One in another container counts as dead, which is safe: the engine has a lock of its own.
 */
export function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    // The process is another user's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
