/** What a run of a function counts against. */
export type Lane = {
  /** Owners take turns. */
  readonly owner: string;
  /** Whether it is expected to take long. */
  readonly isSlow?: boolean;
  /** Whether it goes before the others that its owner waits for: a request waits for it. */
  readonly isUrgent?: boolean;
};

export type LaneLimits = {
  /** How many run at the same time. */
  readonly all: number;
  /** How many of one owner run at the same time. */
  readonly owner: number;
  readonly slow: number;
};

/** Runs a function once its lane is free. */
export type RunInLane = <T>(lane: Lane, run: () => Promise<T>) => Promise<T>;

type Waiting = { readonly lane: Lane; readonly start: () => void };

/** Lets functions run side by side so that neither one owner's, nor those that take long, keep the others waiting. */
export function createLanes(limits: LaneLimits): RunInLane {
  const running: Lane[] = [];
  /** By owner, in the order of their turns. */
  const queues = new Map<string, Waiting[]>();

  const isFree = ({ owner, isSlow }: Lane) =>
    running.length < limits.all &&
    running.filter((lane) => lane.owner === owner).length < limits.owner &&
    !(isSlow && running.filter((lane) => lane.isSlow).length >= limits.slow);
  const startWaiting = () => {
    for (const [owner, queue] of [...queues]) {
      const index = queue.findIndex(({ lane }) => isFree(lane));
      const [next] = index < 0 ? [] : queue.splice(index, 1);
      if (next === undefined) continue;
      queues.delete(owner);
      // To the end: the owner has had its turn.
      if (queue.length > 0) queues.set(owner, queue);
      running.push(next.lane);
      next.start();
    }
  };

  return async (lane, run) => {
    await new Promise<void>((start) => {
      const queue = queues.get(lane.owner) ?? [];
      queues.set(lane.owner, queue);
      const firstOther = lane.isUrgent ? queue.findIndex((other) => !other.lane.isUrgent) : -1;
      queue.splice(firstOther < 0 ? queue.length : firstOther, 0, { lane, start });
      startWaiting();
    });
    try {
      return await run();
    } finally {
      running.splice(running.indexOf(lane), 1);
      startWaiting();
    }
  };
}
