import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { repeatEvery } from "./repeat-every.ts";

test("calls while it runs share the run, and the stop waits for it", async () => {
  const steps: string[] = [];
  const { run, stop } = repeatEvery(
    async () => {
      steps.push("begin");
      await sleep(5);
      steps.push("end");
    },
    { everyMs: undefined, onError: () => {} },
  );
  await Promise.all([run(), run()]);
  expect(steps).toEqual(["begin", "end"]);
  void run();
  await stop();
  expect(steps).toEqual(["begin", "end", "begin", "end"]);
});

test("the first of consecutive failures is reported, the recovery, and nothing after the stop", async () => {
  const reported: string[] = [];
  let outcome = "";
  const { run, stop } = repeatEvery(
    async () => {
      if (outcome !== "") throw new Error(outcome);
    },
    {
      everyMs: undefined,
      onError: (error) => reported.push(String(error)),
      onRecovery: () => reported.push("recovered"),
    },
  );
  for (outcome of ["", "first", "second", "", "", "third"]) await run();
  expect(reported).toEqual(["Error: first", "recovered", "Error: third"]);
  outcome = "";
  await run();
  await stop();
  outcome = "late";
  await run();
  expect(reported).toEqual(["Error: first", "recovered", "Error: third", "recovered"]);
});

test("it runs first after its delay, and then at its intervals", async () => {
  let runs = 0;
  const { stop } = repeatEvery(async () => void runs++, { everyMs: 1_000_000, firstMs: 1, onError: () => {} });
  onTestFinished(stop);
  await expect.poll(() => runs).toBe(1);
});

test("a pause may depend on how the run went, also one that a call started", async () => {
  const outcomes: boolean[] = [];
  let runs = 0;
  const pauseMs = (hasFailed: boolean) => {
    outcomes.push(hasFailed);
    return runs < 3 ? 1 : 1_000_000;
  };
  const act = async () => {
    if (++runs === 2) throw new Error("the second");
  };
  const { run, stop } = repeatEvery(act, { everyMs: undefined, pauseMs, onError: () => {} });
  onTestFinished(stop);
  await run();
  await expect.poll(() => outcomes).toEqual([false, true, false]);
});
