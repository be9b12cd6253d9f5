import type { FastifyInstance, FastifyRequest } from "fastify";

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

type Run<T> = { readonly result: Promise<T>; readonly abort: AbortController; callers: number };

/** Runs of the same work that callers share. A caller's signal ends its interest. */
export function createSharedRuns<T>() {
  const runs = new Map<string, Run<T>>();
  const remove = (key: string, run: Run<T>) => {
    if (runs.get(key) === run) runs.delete(key);
  };
  const attend = (key: string, run: Run<T>, signal: AbortSignal): Promise<T> => {
    const leave = () => {
      run.callers--;
      if (run.callers > 0) return;
      // Its result will be an error: later requests must start their own.
      remove(key, run);
      run.abort.abort(signal.reason);
    };
    run.callers++;
    signal.addEventListener("abort", leave, { once: true });
    const end = () => signal.removeEventListener("abort", leave);
    run.result.then(end, end);
    return run.result;
  };
  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Run<T> => {
    const abort = new AbortController();
    const run = { result: work(abort.signal), abort, callers: 0 };
    runs.set(key, run);
    const end = () => remove(key, run);
    run.result.then(end, end);
    return run;
  };
  return {
    /** @returns undefined when no run with this key is under way. */
    join(key: string, signal: AbortSignal): Promise<T> | undefined {
      const run = runs.get(key);
      return run && attend(key, run, signal);
    },
    /** @param work its signal aborts when no caller is interested any more. */
    joinOrStart(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      return attend(key, runs.get(key) ?? start(key, work), signal);
    },
  };
}
