import type { FastifyInstance, FastifyRequest } from "fastify";

/** Runs of the same work that callers share while it runs. */
export type SharedRuns<T> = {
  /** The result of the run with this key; undefined when none is running. @param signal ends the caller's interest. */
  join(key: string, signal: AbortSignal): Promise<T> | undefined;
  /**
   * Joins the run with this key or, when none is running, starts one that others may join.
   * @param work its signal aborts when no caller is interested any more.
   */
  joinOrStart(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
};

type Run<T> = { readonly result: Promise<T>; readonly abort: AbortController; callers: number };

export function createSharedRuns<T>(): SharedRuns<T> {
  const runs = new Map<string, Run<T>>();
  const forget = (key: string, run: Run<T>) => {
    if (runs.get(key) === run) runs.delete(key);
  };
  const attend = (key: string, run: Run<T>, signal: AbortSignal): Promise<T> => {
    const leave = () => {
      run.callers--;
      if (run.callers > 0) return;
      // Not to be joined from now on: its result will be an error.
      forget(key, run);
      run.abort.abort(signal.reason);
    };
    run.callers++;
    signal.addEventListener("abort", leave, { once: true });
    const end = () => signal.removeEventListener("abort", leave);
    run.result.then(end, end);
    return run.result;
  };
  const join = (key: string, signal: AbortSignal) => {
    const run = runs.get(key);
    return run && attend(key, run, signal);
  };
  return {
    join,
    joinOrStart(key, signal, work) {
      const joined = join(key, signal);
      if (joined !== undefined) return joined;
      const abort = new AbortController();
      const run: Run<T> = { result: work(abort.signal), abort, callers: 0 };
      runs.set(key, run);
      const end = () => forget(key, run);
      run.result.then(end, end);
      return attend(key, run, signal);
    },
  };
}

/** A question of one caller. Those with the same key have the same answer. */
export type SharedQuestion = { readonly request: FastifyRequest; readonly key: string; readonly cost: number };

/**
 * Answers the same question of several callers, as of those who look at one dashboard, once. Only the run itself takes
 * its cost of the query capacity.
 * @param work its signal aborts when no caller is interested any more.
 */
export function createSharedAnswers<T>(app: FastifyInstance) {
  const runs = createSharedRuns<T>();
  return ({ request, key, cost }: SharedQuestion, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => {
    // An equal question may have left the queue first.
    const ask = () => app.admission.run(request, cost, signal, () => runs.joinOrStart(key, signal, work));
    // When the run of another caller fails, it may be for that caller's limits.
    return runs.join(key, signal)?.catch(ask) ?? ask();
  };
}
