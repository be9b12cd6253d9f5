/** Runs of the same work that callers share while it is under way. */
export type SharedRuns<T> = {
  /** The result of the run with this key; undefined when none is under way. @param signal ends the caller's interest. */
  join(key: string, signal: AbortSignal): Promise<T> | undefined;
  /** Starts a run that others may join. @param work its signal aborts when no caller is interested any more. */
  start(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
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
  return {
    join(key, signal) {
      const run = runs.get(key);
      return run && attend(key, run, signal);
    },
    start(key, signal, work) {
      const abort = new AbortController();
      const run: Run<T> = { result: work(abort.signal), abort, callers: 0 };
      runs.set(key, run);
      const end = () => forget(key, run);
      run.result.then(end, end);
      return attend(key, run, signal);
    },
  };
}
