/** One delivery that is to be tried. */
export type Due = { readonly id: string; readonly dueAt: number };

export type Lane<Task extends Due> = {
  /** Adds a task, or replaces the one with its id. */
  put(task: Task): void;
  readonly size: () => number;
  stop(): void;
};

/** Clocks are set and machines sleep, so the clock is read again after this long. */
const MAX_TIMER_MS = 60_000;

/**
 * Tasks of one destination: one after another, each when it is due, the one that is due first at first.
 * @param attempt never rejects. @returns the task as it is to be tried again; undefined when it is done.
 */
export function openLane<Task extends Due>(
  attempt: (task: Task) => Promise<Task | undefined>,
  now: () => number,
): Lane<Task> {
  const tasks = new Map<string, Task>();
  let [isRunning, isStopped] = [false, false];
  let timer: NodeJS.Timeout | undefined;
  const first = () => {
    let earliest: Task | undefined;
    for (const task of tasks.values()) if (earliest === undefined || task.dueAt < earliest.dueAt) earliest = task;
    return earliest;
  };
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    clearTimeout(timer);
    for (let task = first(); task !== undefined && !isStopped; task = first()) {
      const wait = task.dueAt - now();
      if (wait > 0) {
        timer = setTimeout(() => void run(), Math.min(wait, MAX_TIMER_MS)).unref();
        break;
      }
      const next = await attempt(task);
      // Meanwhile it may have been asked for again.
      if (tasks.get(task.id) !== task) continue;
      if (next === undefined) tasks.delete(task.id);
      else tasks.set(task.id, next);
    }
    isRunning = false;
  };
  return {
    put(task) {
      tasks.set(task.id, task);
      void run();
    },
    size: () => tasks.size,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
