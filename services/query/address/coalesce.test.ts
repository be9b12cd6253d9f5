import { setImmediate as tick } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coalesce } from "./coalesce.ts";

type Call = {
  readonly keys: readonly string[];
  readonly succeed: (values?: ReadonlyMap<string, string>) => void;
  readonly fail: (error: Error) => void;
};

/**
 * A coalesced function whose calls the test settles: `calls` are all of them in order, `running` counts the open ones.
 */
function manualCalls(maxKeys: number) {
  const calls: Call[] = [];
  let running = 0;
  const load = coalesce<string>((keys) => {
    running++;
    return new Promise<ReadonlyMap<string, string>>((resolve, reject) => {
      const allValues = () => new Map(keys.map((key) => [key, `value of ${key}`]));
      calls.push({
        keys,
        succeed: (values) => {
          running--;
          resolve(values ?? allValues());
        },
        fail: (error) => {
          running--;
          reject(error);
        },
      });
    });
  }, maxKeys);
  return { load, calls, running: () => running, keys: () => calls.map((call) => call.keys) };
}

/** The value, or the error's message. */
const outcome = (loaded: Promise<string>) =>
  loaded.catch((error: unknown) => (error instanceof Error ? `failed: ${error.message}` : "failed"));

describe("keys", () => {
  test("are each loaded immediately while no call is running", async () => {
    const { load, calls, keys } = manualCalls(10);
    for (const key of ["a", "b"]) {
      const value = load(key);
      calls.at(-1)?.succeed();
      expect(await value).toBe(`value of ${key}`);
      await tick();
    }
    expect(keys()).toEqual([["a"], ["b"]]);
  });

  test("share the next call while one is running", async () => {
    const { load, calls, keys, running } = manualCalls(10);
    const values = Promise.all(["a", "b", "c", "d"].map(load));
    await tick();
    expect(keys()).toEqual([["a"]]);
    calls[0]?.succeed();
    await tick();
    expect(keys()).toEqual([["a"], ["b", "c", "d"]]);
    expect(running()).toBe(1);
    calls[1]?.succeed();
    expect(await values).toEqual(["value of a", "value of b", "value of c", "value of d"]);
  });
});

describe("a call that fails", () => {
  test("may throw synchronously", async () => {
    let isBroken = true;
    const load = coalesce<string>((keys) => {
      if (isBroken) throw new Error("no connection");
      return Promise.resolve(new Map(keys.map((key) => [key, "fine"])));
    }, 10);
    expect(await outcome(load("a"))).toBe("failed: no connection");
    isBroken = false;
    expect(await outcome(load("a"))).toBe("fine");
  });

  test("rejects a key for which the call returned no value, and only that key", async () => {
    const { load, calls } = manualCalls(10);
    const outcomes = Promise.all(["a", "b", "c"].map((key) => outcome(load(key))));
    calls[0]?.succeed();
    await tick();
    calls[1]?.succeed(new Map([["c", "value of c"]]));
    expect(await outcomes).toEqual(["value of a", "failed: no value for b", "value of c"]);
  });
});

test("in any order of keys, successes and failures: one call at a time, no key twice in it, and every key settles", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("a", "b", "c", "d", "e", "f") },
    { weight: 2, arbitrary: fc.constant("succeed" as const) },
    { weight: 1, arbitrary: fc.constant("fail" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (steps, maxKeys) => {
      const { load, calls, running } = manualCalls(maxKeys);
      const loads: [key: string, outcome: Promise<string>][] = [];
      let settled = 0;
      const settle = async (how: "succeed" | "fail") => {
        const call = calls[settled];
        if (call === undefined) return;
        settled++;
        if (how === "succeed") call.succeed();
        else call.fail(new Error(call.keys.join()));
        await tick();
      };
      for (const next of steps) {
        if (next === "succeed" || next === "fail") await settle(next);
        else loads.push([next, outcome(load(next))]);
        expect(running()).toBeLessThanOrEqual(1);
      }
      while (settled < calls.length) await settle("succeed");
      for (const [key, outcomeOfKey] of loads) {
        const settled = await outcomeOfKey;
        if (settled.startsWith("failed: ")) expect(settled.slice(8).split(",")).toContain(key);
        else expect(settled).toBe(`value of ${key}`);
      }
      for (const { keys } of calls) {
        expect(keys.length).toBeLessThanOrEqual(maxKeys);
        expect(new Set(keys).size).toBe(keys.length);
      }
    }),
  );
});
