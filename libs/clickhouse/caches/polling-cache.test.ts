import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openPollingCache } from "./polling-cache.ts";

test("a refresh shows every change made before it was called, also while an earlier poll is running", async () => {
  let version = "1";
  let release: () => void = () => {};
  let isSlow = false;
  const readVersion = async () => {
    const seen = version;
    if (isSlow) await new Promise<void>((settle) => (release = settle));
    return seen;
  };
  const cache = await openPollingCache(readVersion, async () => `content ${version}`, { intervalMs: 1_000_000 });
  isSlow = true;
  const early = cache.refresh();
  version = "2";
  const late = cache.refresh();
  isSlow = false;
  release();
  await early;
  await late;
  expect(cache.current()).toBe("content 2");
  cache.stop();
});

test("a poll that fails is reported, but not one that was running when the cache was stopped", async () => {
  let polls = 0;
  const pending: ((error: Error) => void)[] = [];
  const readVersion = () =>
    polls++ === 0 ? Promise.resolve("1") : new Promise<string>((_, fail) => void pending.push(fail));
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const cache = await openPollingCache(readVersion, async () => "content", { intervalMs: 1, onError });
  const failNext = async (message: string) => {
    while (pending.length === 0) await sleep(1);
    pending.shift()?.(new Error(message));
    await sleep(5);
  };
  await failNext("away");
  expect(errors.length).toBeGreaterThan(0);
  const before = errors.length;
  while (pending.length === 0) await sleep(1);
  cache.stop();
  await failNext("closed");
  expect(errors).toHaveLength(before);
});

test("content that was there is never replaced by none: the cached content is served, and the poll fails", async () => {
  let stored = ["a key"];
  const cache = await openPollingCache(
    async () => stored.join(),
    async () => stored,
    { intervalMs: 1_000_000, isEmpty: (content) => content.length === 0 },
  );
  stored = [];
  await expect(cache.refresh()).rejects.toThrow("is empty and was not before");
  await expect(cache.refresh(), "and later refreshes fail, too").rejects.toThrow("is empty and was not before");
  expect(cache.current()).toEqual(["a key"]);
  stored = ["another"];
  await cache.refresh();
  expect(cache.current()).toEqual(["another"]);
  cache.stop();
});
