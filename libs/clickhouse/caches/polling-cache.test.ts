import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openPollingCache } from "./polling-cache.ts";
import { unlessLost } from "./records-cache.ts";

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

test("the content of a store that was lost is served on, and its polls fail; the last row may be deleted", async () => {
  let stored = ["workspace", "sensor"];
  let identity = "one";
  const read = async () => ({ stored, kinds: new Set(stored) });
  const readUnlessLost = await unlessLost(read, async () => identity);
  const cache = await openPollingCache(async () => stored.join(), readUnlessLost, { intervalMs: 1_000_000 });
  stored = ["workspace"];
  await cache.refresh();
  expect(cache.current().stored, "deleted").toEqual(["workspace"]);
  stored = ["workspace", "sensor"];
  await cache.refresh();
  for (const left of [[], ["workspace"]]) {
    [stored, identity] = [left, "another"];
    await expect(cache.refresh(), "also when a start has made the first workspace").rejects.toThrow("made anew");
    await expect(cache.refresh(), "and later refreshes fail, too").rejects.toThrow("made anew and is empty");
    expect(cache.current().stored).toEqual(["workspace", "sensor"]);
  }
  stored = ["workspace", "sensor", "feed"];
  await cache.refresh();
  expect(cache.current().stored).toEqual(["workspace", "sensor", "feed"]);
  cache.stop();
});

test("a change that a caller knows of shows when it looks again, and however many look, the store is asked seldom", async () => {
  let version = "1";
  let polls = 0;
  const readVersion = async () => {
    polls++;
    return version;
  };
  const cache = await openPollingCache(readVersion, async () => `content ${version}`, { intervalMs: 1_000_000 });
  version = "2";
  await cache.lookAgain();
  expect(cache.current()).toBe("content 2");
  version = "3";
  await Promise.all(Array.from({ length: 1_000 }, () => cache.lookAgain()));
  expect(cache.current(), "also right after another look").toBe("content 3");
  expect(polls).toBe(3);
  cache.stop();
});
