import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { watch } from "./polling-cache.ts";

test("a refresh shows every change made before it was asked for, also while an earlier look is under way", async () => {
  let version = "1";
  let release: () => void = () => {};
  let isSlow = false;
  const readVersion = async () => {
    const seen = version;
    if (isSlow) await new Promise<void>((settle) => (release = settle));
    return seen;
  };
  const watched = await watch(readVersion, async () => `content ${version}`, { intervalMs: 1_000_000 });
  isSlow = true;
  const early = watched.refresh();
  version = "2";
  const late = watched.refresh();
  isSlow = false;
  release();
  await early;
  await late;
  expect(watched.current()).toBe("content 2");
  watched.stop();
});

test("a look that fails is told, but not one that was under way when the watch was stopped", async () => {
  let looks = 0;
  const pending: ((error: Error) => void)[] = [];
  const readVersion = () =>
    looks++ === 0 ? Promise.resolve("1") : new Promise<string>((_, fail) => void pending.push(fail));
  const told: unknown[] = [];
  const onError = (error: unknown) => told.push(error);
  const watched = await watch(readVersion, async () => "content", { intervalMs: 1, onError });
  const failNext = async (message: string) => {
    while (pending.length === 0) await sleep(1);
    pending.shift()?.(new Error(message));
    await sleep(5);
  };
  await failNext("away");
  expect(told.length).toBeGreaterThan(0);
  const before = told.length;
  while (pending.length === 0) await sleep(1);
  watched.stop();
  await failNext("closed");
  expect(told).toHaveLength(before);
});

test("content that was there is never replaced by none: what was known goes on, and the look fails", async () => {
  let stored = ["a key"];
  const watched = await watch(
    async () => stored.join(),
    async () => stored,
    { intervalMs: 1_000_000, isEmpty: (content) => content.length === 0 },
  );
  stored = [];
  await expect(watched.refresh()).rejects.toThrow("read as empty");
  await expect(watched.refresh(), "and goes on failing, so that it stays visible").rejects.toThrow("read as empty");
  expect(watched.current()).toEqual(["a key"]);
  stored = ["another"];
  await watched.refresh();
  expect(watched.current()).toEqual(["another"]);
  watched.stop();
});
