import { expect, test } from "vitest";
import { createSingleFlight } from "./single-flight.ts";

/** A run that ends when the test says so. */
function controlled() {
  let starts = 0;
  let end: (outcome: Promise<string>) => void = () => {};
  const start = () => {
    starts++;
    return new Promise<string>((resolve) => {
      end = resolve;
    });
  };
  return { start, starts: () => starts, end: (outcome: Promise<string>) => end(outcome) };
}

test("calls with one key share a run, calls with another have theirs, and a call after its end starts anew", async () => {
  const share = createSingleFlight<string, string>();
  const [first, other] = [controlled(), controlled()];
  const results = [share("a", first.start), share("a", first.start), share("b", other.start)];
  expect([share.has("a"), share.has("c")]).toEqual([true, false]);
  first.end(Promise.resolve("first"));
  other.end(Promise.resolve("other"));
  expect(await Promise.all(results)).toEqual(["first", "first", "other"]);
  expect(share.has("a")).toBe(false);
  expect(await share("a", async () => "again")).toBe("again");
  expect([first.starts(), other.starts()]).toEqual([1, 1]);
});

test("a failure reaches all who share the run, and is forgotten", async () => {
  for (const keepsResults of [false, true]) {
    const share = createSingleFlight<string, string>({ keepsResults });
    const run = controlled();
    const results = [share("a", run.start), share("a", run.start)];
    run.end(Promise.reject(new Error("down")));
    for (const result of results) await expect(result).rejects.toThrow("down");
    expect(await share("a", async () => "up")).toBe("up");
  }
});

test("results that are kept answer later calls", async () => {
  const share = createSingleFlight<string, string>({ keepsResults: true });
  expect(await share("a", async () => "first")).toBe("first");
  expect(await share("a", async () => "second")).toBe("first");
});

test("it has settled when the runs under way have ended, also the failed", async () => {
  const share = createSingleFlight<string, string>();
  const run = controlled();
  const failed = expect(share("a", run.start)).rejects.toThrow("down");
  let isSettled = false;
  const settled = share.settled().then(() => {
    isSettled = true;
  });
  await new Promise(setImmediate);
  expect(isSettled).toBe(false);
  run.end(Promise.reject(new Error("down")));
  await Promise.all([settled, failed]);
});
