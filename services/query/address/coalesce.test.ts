import { setImmediate as tick } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coalesce } from "./coalesce.ts";

type Call = {
  readonly keys: readonly string[];
  readonly answer: (answers?: ReadonlyMap<string, string>) => void;
  readonly fail: (error: Error) => void;
};

/** A question that is answered by hand; `calls` are those that came in, in order, `underWay` those without an answer. */
function askable(most: number) {
  const calls: Call[] = [];
  let underWay = 0;
  const ask = coalesce<string>((keys) => {
    underWay++;
    return new Promise<ReadonlyMap<string, string>>((resolve, reject) => {
      const answerAll = () => new Map(keys.map((key) => [key, `value of ${key}`]));
      calls.push({
        keys,
        answer: (answers) => {
          underWay--;
          resolve(answers ?? answerAll());
        },
        fail: (error) => {
          underWay--;
          reject(error);
        },
      });
    });
  }, most);
  return { ask, calls, underWay: () => underWay, keys: () => calls.map((call) => call.keys) };
}

/** What became of a question: its value or the error's message. */
const outcome = (question: Promise<string>) =>
  question.catch((error: unknown) => (error instanceof Error ? `failed: ${error.message}` : "failed"));

describe("questions asked one by one", () => {
  test("are each answered at once as long as nothing is under way", async () => {
    const { ask, calls, keys } = askable(10);
    for (const key of ["a", "b"]) {
      const answer = ask(key);
      calls.at(-1)?.answer();
      expect(await answer).toBe(`value of ${key}`);
      await tick();
    }
    expect(keys()).toEqual([["a"], ["b"]]);
  });

  test("share the next call when they come while one is under way", async () => {
    const { ask, calls, keys, underWay } = askable(10);
    const answers = Promise.all(["a", "b", "c", "d"].map(ask));
    await tick();
    expect(keys()).toEqual([["a"]]);
    calls[0]?.answer();
    await tick();
    expect(keys()).toEqual([["a"], ["b", "c", "d"]]);
    expect(underWay()).toBe(1);
    calls[1]?.answer();
    expect(await answers).toEqual(["value of a", "value of b", "value of c", "value of d"]);
  });

  test("are put once however many ask the same, and everybody gets the answer", async () => {
    const { ask, calls, keys } = askable(10);
    const answers = Promise.all(["a", "b", "b", "a", "b"].map(ask));
    calls[0]?.answer();
    await tick();
    calls[1]?.answer();
    expect(await answers).toEqual(["a", "b", "b", "a", "b"].map((key) => `value of ${key}`));
    // The second "a" came after the call for the first had left: it may not get an answer from before it was asked.
    expect(keys()).toEqual([["a"], ["b", "a"]]);
  });

  test("are put in calls of no more keys than allowed, first come first served", async () => {
    const { ask, calls, keys } = askable(2);
    const answers = Promise.all(["a", "b", "c", "d", "e", "f"].map(ask));
    for (let call = 0; call < 4; call++) {
      calls[call]?.answer();
      await tick();
    }
    expect(keys()).toEqual([["a"], ["b", "c"], ["d", "e"], ["f"]]);
    expect(await answers).toHaveLength(6);
  });
});

describe("a call that fails", () => {
  test("fails those who waited for it and nobody else, and the next one works", async () => {
    const { ask, calls } = askable(2);
    const outcomes = Promise.all(["a", "b", "c", "d"].map((key) => outcome(ask(key))));
    calls[0]?.answer();
    await tick();
    calls[1]?.fail(new Error("the store is away"));
    await tick();
    calls[2]?.answer();
    expect(await outcomes).toEqual([
      "value of a",
      "failed: the store is away",
      "failed: the store is away",
      "value of d",
    ]);
    const later = ask("b");
    calls[3]?.answer();
    expect(await later).toBe("value of b");
  });

  test("may fail before it is even under way", async () => {
    let isBroken = true;
    const ask = coalesce<string>((keys) => {
      if (isBroken) throw new Error("no connection");
      return Promise.resolve(new Map(keys.map((key) => [key, "fine"])));
    }, 10);
    expect(await outcome(ask("a"))).toBe("failed: no connection");
    isBroken = false;
    expect(await outcome(ask("a"))).toBe("fine");
  });

  test("leaves a key out of its answer: only those who asked for it fail", async () => {
    const { ask, calls } = askable(10);
    const outcomes = Promise.all(["a", "b", "c"].map((key) => outcome(ask(key))));
    calls[0]?.answer();
    await tick();
    calls[1]?.answer(new Map([["c", "value of c"]]));
    expect(await outcomes).toEqual(["value of a", "failed: no answer for b", "value of c"]);
  });
});

test("whoever asks, when, and whatever fails: one call at a time, no key twice in it, and everybody gets their answer", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("a", "b", "c", "d", "e", "f") },
    { weight: 2, arbitrary: fc.constant("answer" as const) },
    { weight: 1, arbitrary: fc.constant("fail" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (steps, most) => {
      const { ask, calls, underWay } = askable(most);
      const asked: [key: string, outcome: Promise<string>][] = [];
      let settled = 0;
      const settle = async (how: "answer" | "fail") => {
        const call = calls[settled];
        if (call === undefined) return;
        settled++;
        if (how === "answer") call.answer();
        else call.fail(new Error(call.keys.join()));
        await tick();
      };
      for (const next of steps) {
        if (next === "answer" || next === "fail") await settle(next);
        else asked.push([next, outcome(ask(next))]);
        expect(underWay()).toBeLessThanOrEqual(1);
      }
      while (settled < calls.length) await settle("answer");
      for (const [key, answer] of asked) {
        const said = await answer;
        if (said.startsWith("failed: ")) expect(said.slice(8).split(",")).toContain(key);
        else expect(said).toBe(`value of ${key}`);
      }
      for (const { keys } of calls) {
        expect(keys.length).toBeLessThanOrEqual(most);
        expect(new Set(keys).size).toBe(keys.length);
      }
    }),
  );
});
