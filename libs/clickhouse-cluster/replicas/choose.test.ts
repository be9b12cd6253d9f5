import fc from "fast-check";
import { expect, test } from "vitest";
import { chooseReplica, type ReplicaState, replicaOf } from "./choose.ts";

const choose = (current: number | undefined, ...shards: string[]) => chooseReplica(shards.map(statesOf), current);
/** The states of a shard's replicas in their order: "cb" means that the first is complete and the second behind. */
const statesOf = (letters: string): ReplicaState[] => [...letters].map((letter) => LETTERS[letter] ?? "away");
const LETTERS: Readonly<Record<string, ReplicaState>> = { c: "complete", b: "behind", k: "alone", "-": "away" };

test("the first replica that is complete everywhere is asked, and stays while it is", () => {
  expect(choose(undefined, "cc", "cc")).toBe(0);
  expect(choose(1, "cc", "cc")).toBe(1);
  expect(choose(0, "bc", "cc")).toBe(1);
  expect(choose(1, "cb", "cc")).toBe(0);
});

test("of a shard whose replica is away another is asked, if that is complete", () => {
  expect(choose(0, "-c", "cc")).toBe(0);
  expect(choose(0, "-c", "c-")).toBe(0);
  expect(choose(0, "-b", "cc")).toBeUndefined();
  expect(choose(0, "-cb", "ccc")).toBe(1);
  expect(choose(0, "-bc", "c-c")).toBe(2);
});

test("no replica is asked that may lack rows", () => {
  expect(choose(0, "bc", "cb")).toBeUndefined();
  expect(choose(0, "--", "cc")).toBeUndefined();
});

test("without Keeper the replica of before answers on, and no other one begins to", () => {
  expect(choose(1, "kk", "kk")).toBe(1);
  expect(choose(1, "kk", "cc")).toBe(1);
  expect(choose(1, "-k", "cc")).toBe(1);
  expect(choose(undefined, "kk", "kk")).toBeUndefined();
  expect(choose(0, "-k", "kk")).toBeUndefined();
});

test("a replica that alone has lost Keeper misses what others store, so another is asked", () => {
  expect(choose(0, "kc", "cc")).toBe(1);
  expect(choose(0, "kb", "cc")).toBeUndefined();
});

test("whatever the states, a replica that answers for its shard has all rows", () => {
  const state = fc.constantFrom<ReplicaState>("complete", "behind", "alone", "away");
  const shards = fc.array(fc.array(state, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(shards, fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined }), (states, current) => {
      const chosen = chooseReplica(states, current);
      if (chosen === undefined) return;
      for (const replicas of states) {
        const asked = replicaOf(replicas, chosen);
        const state = asked === undefined ? "away" : replicas[asked];
        expect(state === "complete" || (state === "alone" && asked === current)).toBe(true);
      }
    }),
  );
});

test("rows go to the chosen replica, else to one that answers", () => {
  expect(replicaOf(statesOf("cc"), 1)).toBe(1);
  expect(replicaOf(statesOf("c-"), 1)).toBe(0);
  expect(replicaOf(statesOf("b-"), 1)).toBe(0);
  expect(replicaOf(statesOf("bc"), undefined)).toBe(1);
  expect(replicaOf(statesOf("--"), 0)).toBeUndefined();
});
