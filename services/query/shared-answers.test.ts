import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createSharedRuns } from "./shared-answers.ts";

/** Work that ends when the test says so. */
function controlled() {
  let resolve = (_value: string) => {};
  let reject = (_error: Error) => {};
  const result = new Promise<string>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    signals.push(signal);
    signal.addEventListener("abort", () => reject(new Error("aborted")));
    return result;
  };
  return { work, resolve: (value: string) => resolve(value), signals };
}

const live = () => new AbortController();

test("callers with the same key share one run, and one that comes after its end does not", async () => {
  const runs = createSharedRuns<string>();
  const { work, resolve, signals } = controlled();
  const first = runs.joinOrStart("a", live().signal, work);
  const second = runs.join("a", live().signal);
  expect(runs.join("b", live().signal)).toBeUndefined();
  resolve("answer");
  expect(await Promise.all([first, second])).toEqual(["answer", "answer"]);
  await nextTurn();
  expect(runs.join("a", live().signal)).toBeUndefined();
  expect(signals).toHaveLength(1);
});

test("a question that waited while an equal one started joins its run", async () => {
  const runs = createSharedRuns<string>();
  const [first, second] = [controlled(), controlled()];
  const results = [first, second].map(({ work }) => runs.joinOrStart("a", live().signal, work));
  first.resolve("answer");
  expect(await Promise.all(results)).toEqual(["answer", "answer"]);
  expect([first.signals.length, second.signals.length]).toEqual([1, 0]);
});

test("a run goes on without the caller who started it, and ends when the last one has left", async () => {
  const runs = createSharedRuns<string>();
  const { work, signals } = controlled();
  const [starter, joiner] = [live(), live()];
  const result = runs.joinOrStart("a", starter.signal, work).catch((error: Error) => error.message);
  const joined = runs.join("a", joiner.signal)?.catch((error: Error) => error.message);
  starter.abort();
  expect(signals[0]?.aborted).toBe(false);
  expect(runs.join("a", live().signal)).toBeDefined();
  // The third caller has not left, so the run goes on.
  joiner.abort();
  expect(signals[0]?.aborted).toBe(false);
  const alone = createSharedRuns<string>();
  const other = controlled();
  const leaving = live();
  const ended = alone.joinOrStart("a", leaving.signal, other.work).catch((error: Error) => error.message);
  leaving.abort();
  expect(other.signals[0]?.aborted).toBe(true);
  expect(alone.join("a", live().signal), "a run that was aborted").toBeUndefined();
  expect(await ended).toBe("aborted");
  void [result, joined];
});
