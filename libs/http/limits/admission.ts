import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { callerOf, type LimitedCaller } from "./caller.ts";
import { type OnRejected, rejectionError } from "./rejections.ts";
import { createHoldings, type Exhausted, type Shares } from "./shares.ts";

/** Bounds how many large questions are worked on at once, by their cost, and how many wait. */
export type Admission = {
  /**
   * Works on a question once there is capacity for it; callers take turns.
   * @param cost as parts of the capacity; one that is larger than the caller's share takes all of that share.
   * @throws HttpError 429 when too many of the caller's questions wait, 503 when too many of all do or it waited too long.
   */
  run<T>(request: FastifyRequest, cost: number, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Throws what `run` would throw at once. To be asked before more is done for a question than is needed to know its cost. */
  assertRoom(request: FastifyRequest, cost: number): Promise<void>;
  /** The cost of the questions that are worked on. */
  inFlight(): number;
  /** The cost of those that wait. */
  queued(): number;
};

export type AdmissionOptions = {
  readonly capacity: Shares;
  readonly queue: Shares;
  readonly maxWaitMs: number;
  /** A client that asks again at once would keep the process busy with rejecting: it is told so late. */
  readonly rejectionDelayMs: number;
  readonly onRejected: OnRejected;
};

type Waiting = { readonly caller: LimitedCaller; readonly cost: number; readonly start: () => void };

export function createAdmission(options: AdmissionOptions): Admission {
  const { capacity, queue, maxWaitMs, rejectionDelayMs, onRejected } = options;
  const running = createHoldings(capacity);
  const waiting = createHoldings(queue);
  /** By caller, in the order of their turns. */
  const turns = new Map<string, Waiting[]>();
  /** What somebody waits for who may not be overtaken: else small questions would keep a large one out for good. */
  const awaited = new Set<Exhausted>();

  const remove = (one: Waiting) => {
    const own = turns.get(one.caller.name) ?? [];
    const place = own.indexOf(one);
    if (place < 0) return;
    own.splice(place, 1);
    turns.delete(one.caller.name);
    // Behind everybody else's: the caller has had its turn.
    if (own.length > 0) turns.set(one.caller.name, own);
    waiting.giveBack(one.caller, one.cost);
  };
  /** @returns whether anything was started. */
  const startSome = (): boolean => {
    awaited.clear();
    let hasStarted = false;
    for (const [first] of [...turns.values()]) {
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
  const isOvertaking = ({ name, hasKey }: LimitedCaller) =>
    turns.has(name) || awaited.has("all") || (!hasKey && awaited.has("withoutKey"));

  const reject = async (exhausted: Exhausted): Promise<never> => {
    const reason = exhausted === "caller" ? "caller_queue_full" : "queue_full";
    onRejected(reason);
    await sleep(rejectionDelayMs);
    throw rejectionError[reason]();
  };
  /** It has its place among those that wait already. */
  const wait = (caller: LimitedCaller, cost: number, signal: AbortSignal) =>
    new Promise<void>((settle, fail) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
      };
      const one: Waiting = {
        caller,
        cost,
        start() {
          end();
          settle();
        },
      };
      const giveUp = (error: unknown) => {
        end();
        remove(one);
        fail(error);
        // It may have been the one that others must not overtake.
        startAll();
      };
      const leave = () => giveUp(signal.reason);
      const timer = setTimeout(() => {
        onRejected("queue_timeout");
        giveUp(rejectionError.queue_timeout(Math.round(maxWaitMs / 1_000)));
      }, maxWaitMs);
      signal.addEventListener("abort", leave, { once: true });
      turns.set(caller.name, [...(turns.get(caller.name) ?? []), one]);
      startAll();
    });

  return {
    async assertRoom(request, wanted) {
      const caller = callerOf(request);
      const cost = Math.min(wanted, running.mostFor(caller));
      if (!isOvertaking(caller) && running.check(caller, cost) === undefined) return;
      const exhausted = waiting.check(caller, cost);
      if (exhausted !== undefined) await reject(exhausted);
    },
    async run(request, wanted, signal, work) {
      signal.throwIfAborted();
      const caller = callerOf(request);
      const cost = Math.min(wanted, running.mostFor(caller));
      if (isOvertaking(caller) || running.take(caller, cost) !== undefined) {
        const exhausted = waiting.take(caller, cost);
        if (exhausted !== undefined) return await reject(exhausted);
        await wait(caller, cost, signal);
      }
      try {
        return await work();
      } finally {
        running.giveBack(caller, cost);
        startAll();
      }
    },
    inFlight: running.used,
    queued: waiting.used,
  };
}
