import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { callerOf, type LimitedCaller } from "./caller.ts";
import { type OnRejected, queueTimeoutError, REJECTION_ERRORS } from "./rejections.ts";
import { createHoldings, type Exhausted, type Shares } from "./shares.ts";

/** Bounds the total cost of the large queries that run side by side, and of those that wait in a queue. */
export type Admission = {
  /**
   * Runs a query once there is capacity for it; callers take queues.
   * @param cost in units of the capacity; one larger than the caller's share takes all of that share.
   * @throws HttpError 429 when the caller's queue is full, 503 when the whole queue is or the query waited too long.
   */
  run<T>(request: FastifyRequest, cost: number, signal: AbortSignal, query: () => Promise<T>): Promise<T>;
  /** Throws what `run` would throw immediately: call it before any work that a rejection would make useless. */
  assertCapacity(request: FastifyRequest, cost: number): Promise<void>;
  /** The total cost of the running queries. */
  inFlight(): number;
  /** The total cost of the queued queries. */
  queued(): number;
};

export type AdmissionOptions = {
  readonly capacity: Shares;
  readonly queue: Shares;
  readonly maxWaitMs: number;
  /** Delays each rejection: a client that retries immediately would keep the process busy with rejecting. */
  readonly rejectionDelayMs: number;
  readonly onRejected: OnRejected;
};

type QueuedQuery = { readonly caller: LimitedCaller; readonly cost: number; readonly start: () => void };

/** Up to a fifth less, so that callers who came together do not all come back in the same moment. */
function spread(ms: number): number {
  return ms * (0.8 + Math.random() * 0.2);
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { capacity, queue, maxWaitMs, rejectionDelayMs, onRejected } = options;
  const running = createHoldings(capacity);
  const queued = createHoldings(queue);
  /** By caller, in the order of their turns. */
  const queues = new Map<string, QueuedQuery[]>();
  /** Limits that a queued query waits for. None may overtake it there: small queries would starve a large one. */
  const awaited = new Set<Exhausted>();

  const remove = (query: QueuedQuery) => {
    const { caller, cost } = query;
    const own = queues.get(caller.name) ?? [];
    const index = own.indexOf(query);
    if (index < 0) return;
    own.splice(index, 1);
    queues.delete(caller.name);
    // To the end: the caller has had its turn.
    if (own.length > 0) queues.set(caller.name, own);
    queued.release(caller, cost);
  };
  /** @returns whether any query was started. */
  const startSome = (): boolean => {
    awaited.clear();
    let hasStarted = false;
    for (const [first] of [...queues.values()]) {
      if (first === undefined || (awaited.has("withoutKey") && !first.caller.hasKey)) continue;
      const exhausted = running.take(first.caller, first.cost);
      if (exhausted === undefined) {
        remove(first);
        first.start();
        hasStarted = true;
      } else {
        awaited.add(exhausted);
        if (exhausted === "all") break;
      }
    }
    return hasStarted;
  };
  const startAll = () => {
    while (startSome()) {}
  };
  const mustQueue = ({ name, hasKey }: LimitedCaller) =>
    queues.has(name) || awaited.has("all") || (!hasKey && awaited.has("withoutKey"));

  const reject = async (exhausted: Exhausted): Promise<never> => {
    const reason = exhausted === "caller" ? "caller_queue_full" : "queue_full";
    onRejected(reason);
    await sleep(spread(rejectionDelayMs));
    throw REJECTION_ERRORS[reason];
  };
  /** The query's place in the queue is taken already. */
  const wait = (caller: LimitedCaller, cost: number, signal: AbortSignal) =>
    new Promise<void>((settle, fail) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      };
      const query: QueuedQuery = {
        caller,
        cost,
        start() {
          end();
          settle();
        },
      };
      const leave = (error: unknown) => {
        end();
        remove(query);
        fail(error);
        // It may have been the one that no other could overtake.
        startAll();
      };
      const onAbort = () => leave(signal.reason);
      const timer = setTimeout(() => {
        onRejected("queue_timeout");
        leave(queueTimeoutError(Math.round(maxWaitMs / 1_000)));
      }, spread(maxWaitMs));
      signal.addEventListener("abort", onAbort, { once: true });
      queues.set(caller.name, [...(queues.get(caller.name) ?? []), query]);
      startAll();
    });

  return {
    async assertCapacity(request, wanted) {
      const caller = callerOf(request);
      const cost = Math.min(wanted, running.maxFor(caller));
      if (!mustQueue(caller) && running.check(caller, cost) === undefined) return;
      const exhausted = queued.check(caller, cost);
      if (exhausted !== undefined) await reject(exhausted);
    },
    async run(request, wanted, signal, query) {
      signal.throwIfAborted();
      const caller = callerOf(request);
      const cost = Math.min(wanted, running.maxFor(caller));
      if (mustQueue(caller) || running.take(caller, cost) !== undefined) {
        const exhausted = queued.take(caller, cost);
        if (exhausted !== undefined) return await reject(exhausted);
        await wait(caller, cost, signal);
      }
      try {
        return await query();
      } finally {
        running.release(caller, cost);
        startAll();
      }
    },
    inFlight: running.used,
    queued: queued.used,
  };
}
