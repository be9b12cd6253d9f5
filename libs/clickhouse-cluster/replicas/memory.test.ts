import { expect, test } from "vitest";
import type { ReplicaState } from "./choose.ts";
import { rememberReplica } from "./memory.ts";

/** What a server is after each look: the time in seconds, what it says, and what the other replica is. */
function statesAfter(...looks: [at: number, seen: ReplicaState | undefined, other?: ReplicaState][]) {
  let now = 0;
  const remember = rememberReplica(() => now);
  return looks.map(([at, seen, other = "complete"]) => {
    now = at * 1_000;
    const isIdle = seen !== "behind";
    return remember(seen && { state: seen, isIdle }, {
      isOneComplete: other === "complete",
      isOneThere: other !== "away",
    });
  });
}

test("a server that is complete at the first look is asked at once", () => {
  expect(statesAfter([0, "complete"], [1, "complete"])).toEqual(["complete", "complete"]);
});

test("a server that comes back has to look complete for three seconds", () => {
  expect(statesAfter([0, "complete"], [1, "away"], [2, "complete"], [3.9, "complete"], [4, "complete"])).toEqual([
    "complete",
    "away",
    "behind",
    "behind",
    "complete",
  ]);
});

test("a server that only takes its time is what it was, for ten seconds", () => {
  expect(statesAfter([0, "complete"], [3, undefined], [9, undefined], [10, undefined], [11, "complete"])).toEqual([
    "complete",
    "complete",
    "complete",
    "away",
    "behind",
  ]);
  expect(statesAfter([3, undefined], [4, "complete"])).toEqual(["away", "complete"]);
});

test("a replica that alone was without Keeper has missed rows; when all were, none has", () => {
  expect(statesAfter([0, "complete"], [1, "alone", "complete"], [2, "complete"])).toEqual([
    "complete",
    "alone",
    "behind",
  ]);
  expect(statesAfter([0, "complete"], [1, "alone", "alone"], [2, "complete"])).toEqual([
    "complete",
    "alone",
    "complete",
  ]);
});

test("a replica that was complete for ten seconds when the other one ended lacks nothing that an insert ended with", () => {
  expect(statesAfter([0, "complete"], [10, "behind", "away"], [11, "behind"])).toEqual([
    "complete",
    "complete",
    "behind",
  ]);
  expect(statesAfter([0, "complete"], [9, "behind", "away"], [20, "behind", "away"])).toEqual([
    "complete",
    "behind",
    "behind",
  ]);
  expect(statesAfter([0, "behind"], [16, "behind", "away"])).toEqual(["behind", "behind"]);
});

test("a server that comes back and has parts to fetch is not complete, however young they are", () => {
  let now = 0;
  const remember = rememberReplica(() => now);
  const look = (at: number, state: ReplicaState, isIdle: boolean) => {
    now = at;
    return remember({ state, isIdle }, { isOneComplete: true, isOneThere: true });
  };
  expect(look(0, "away", false)).toBe("away");
  expect(look(1_000, "complete", false)).toBe("behind");
  expect(look(4_500, "complete", false)).toBe("behind");
  expect(look(5_000, "complete", true)).toBe("complete");
  expect(look(6_000, "complete", false)).toBe("complete");
});
