import { expect, test } from "vitest";
import { pauseAfter, retry } from "./retry.ts";

const pauses = { firstMs: 2, maxMs: 8 };
const always = { forMs: 60_000, isTransient: () => true, pauses };

/** Fails some times, each with its number. */
function failing(times: number) {
  let attempts = 0;
  return async () => {
    attempts++;
    if (attempts <= times) throw new Error(String(attempts));
    return attempts;
  };
}

test("pauses double up to a limit, and half of each is chance", () => {
  const longest = Array.from({ length: 2_000 }, (_, index) => pauseAfter(index + 1, { firstMs: 250, maxMs: 3_000 }, 1));
  expect(longest.slice(0, 5)).toEqual([250, 500, 1_000, 2_000, 3_000]);
  expect(new Set(longest.slice(4))).toEqual(new Set([3_000]));
  expect(pauseAfter(3, { firstMs: 250, maxMs: 3_000 }, 0)).toBe(500);
});

test("a transient failure is retried, and reported before each pause", async () => {
  const reported: string[] = [];
  const onRetry = (error: unknown, attempt: number) => reported.push(`${error} ${attempt}`);
  expect(await retry(failing(2), { ...always, onRetry })).toBe(3);
  expect(reported).toEqual(["Error: 1 1", "Error: 2 2"]);
});

test("the last failure is thrown when it is not transient, when the time is over, and when the signal aborts", async () => {
  const isTransient = (error: unknown) => !String(error).includes("2");
  await expect(retry(failing(5), { ...always, isTransient })).rejects.toThrow("2");
  await expect(retry(failing(5), { ...always, forMs: 0 })).rejects.toThrow("1");
  await expect(retry(failing(5), { ...always, signal: AbortSignal.abort() })).rejects.toThrow("1");
});

test("an abort ends the pause", async () => {
  const stopping = new AbortController();
  const options = { ...always, pauses: { firstMs: 60_000, maxMs: 60_000 }, forMs: 3_600_000 };
  const retried = retry(failing(5), { ...options, signal: stopping.signal, onRetry: () => stopping.abort() });
  await expect(retried).rejects.toThrow("1");
});
