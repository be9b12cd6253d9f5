import { unlessAborted } from "./retry.ts";

/**
 * Waits for the turn of the caller. @returns what gives it back, once or more often.
 * @throws the signal's reason, when it aborts first: the turn goes to the next one.
 */
export type TakeTurn = (signal?: AbortSignal) => Promise<() => void>;

/** Turns for those who would only slow each other down: one has it at a time, in the order in which they ask. */
export function createTurns(): TakeTurn {
  let last: Promise<void> = Promise.resolve();
  return async (signal) => {
    const before = last;
    let giveBack = () => {};
    const done = new Promise<void>((settle) => {
      giveBack = settle;
    });
    last = before.then(() => done);
    try {
      await unlessAborted(before, signal);
    } catch (error) {
      giveBack();
      throw error;
    }
    return giveBack;
  };
}
