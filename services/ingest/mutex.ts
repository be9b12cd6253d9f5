import { unlessAborted } from "@noisefloor/domain/time/unless-aborted.ts";

/**
 * Waits until the caller has the lock. @returns what unlocks, once or more often.
 * @throws the signal's reason when it aborts first: the next caller gets the lock then.
 */
export type Lock = (signal?: AbortSignal) => Promise<() => void>;

/** A mutex: one caller has the lock at a time, in the order in which they ask. */
export function createMutex(): Lock {
  let last: Promise<void> = Promise.resolve();
  return async (signal) => {
    const before = last;
    let unlock = () => {};
    const unlocked = new Promise<void>((settle) => {
      unlock = settle;
    });
    last = before.then(() => unlocked);
    try {
      await unlessAborted(before, signal);
    } catch (error) {
      unlock();
      throw error;
    }
    return unlock;
  };
}
