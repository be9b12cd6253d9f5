import { readFileSync } from "node:fs";

/**
 * Measures the longest that a process of one thread computed without a pause for others, in milliseconds of that
 * thread's processor time: how long it took by the clock depends on what else the machine does.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let before = threadMs();
  const measure = () => {
    const now = threadMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(measure);
  };
  setImmediate(measure);
  try {
    await work();
  } finally {
    // The last piece of the work may have ended in this turn.
    await new Promise((settle) => setImmediate(settle));
    isOver = true;
  }
  return longest;
}

/** The processor time of this thread so far. Only Linux counts it apart from other threads, such as garbage collection's. */
function threadMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ", 1)[0]) / 1e6;
  } catch {
    return process.cpuUsage().user / 1e3;
  }
}
