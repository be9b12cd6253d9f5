import { expect, test } from "vitest";
import { inTime, unlessAborted } from "./unless-aborted.ts";

const never = new Promise<never>(() => {});

test("a promise settles as it does, or with the reason of an abort before", async () => {
  expect(await unlessAborted(Promise.resolve(1), new AbortController().signal)).toBe(1);
  await expect(unlessAborted(never, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  const stopping = new AbortController();
  const waiting = unlessAborted(never, stopping.signal);
  stopping.abort(new Error("later"));
  await expect(waiting).rejects.toThrow("later");
});

test("a promise settles as it does, or with an error when its time is over", async () => {
  expect(await inTime(Promise.resolve(1), 60_000, "late")).toBe(1);
  await expect(inTime(Promise.reject(new Error("own")), 60_000, "late")).rejects.toThrow("own");
  await expect(inTime(never, 1, "late")).rejects.toThrow("late");
});
