import { expect, test } from "vitest";
import { createLanes, type Lane } from "./concurrency.ts";

/** Functions that run until they are told to end. */
function startLanes(limits = { all: 3, owner: 2, slow: 1 }) {
  const runInLane = createLanes(limits);
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  return {
    started,
    run: (name: string, lane: Lane) =>
      runInLane(
        lane,
        () =>
          new Promise<string>((settle, fail) => {
            started.push(name);
            ends.set(name, (error) => (error === undefined ? settle(name) : fail(error)));
          }),
      ),
    async end(name: string, error?: Error) {
      ends.get(name)?.(error);
      await promisesSettle();
    },
  };
}

const promisesSettle = () => new Promise((settle) => setImmediate(settle));

test("one owner's functions leave a lane to the others, who take turns", async () => {
  const { run, started, end } = startLanes();
  for (const name of ["a1", "a2", "a3", "a4"]) void run(name, { owner: "a" });
  await promisesSettle();
  expect(started).toEqual(["a1", "a2"]);
  for (const name of ["b1", "b2"]) void run(name, { owner: "b" });
  void run("c1", { owner: "c" });
  await promisesSettle();
  expect(started).toEqual(["a1", "a2", "b1"]);
  await end("a1");
  await end("a2");
  await end("b1");
  await end(started[3] ?? "");
  expect(started.slice(3).sort()).toEqual(["a3", "a4", "b2", "c1"]);
});

test("functions that take long do not fill all lanes, whoever owns them, and quick ones pass them", async () => {
  const { run, started, end } = startLanes();
  for (const owner of ["a", "b", "c"]) void run(`${owner} slow`, { owner, isSlow: true });
  for (const owner of ["a", "b", "c"]) void run(`${owner} quick`, { owner });
  await promisesSettle();
  expect(started).toEqual(["a slow", "a quick", "b quick"]);
  await end("b quick");
  expect(started.slice(3)).toEqual(["c quick"]);
  await end("a slow");
  expect(started.slice(4)).toEqual(["b slow"]);
});

test("a function that a request waits for goes before the others of its owner", async () => {
  const { run, started, end } = startLanes({ all: 1, owner: 1, slow: 1 });
  for (const name of ["1", "2"]) void run(name, { owner: "a" });
  void run("urgent", { owner: "a", isUrgent: true });
  await promisesSettle();
  await end("1");
  expect(started).toEqual(["1", "urgent"]);
});

test("a function that fails lets the next one run", async () => {
  const { run, started, end } = startLanes({ all: 1, owner: 1, slow: 1 });
  const failed = run("failed", { owner: "a" });
  const next = run("next", { owner: "a" });
  await promisesSettle();
  await Promise.all([expect(failed).rejects.toThrow("broken"), end("failed", new RangeError("broken"))]);
  expect(started).toEqual(["failed", "next"]);
  await end("next");
  expect(await next).toBe("next");
});
