import { expect, test } from "vitest";
import { watch } from "./watch.ts";

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
