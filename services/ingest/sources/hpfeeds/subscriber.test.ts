import { once } from "node:events";
import { createServer } from "node:net";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { MAX_PAUSE_MS, pauseAfter, subscribe } from "./subscriber.ts";

test("the pause before connecting again doubles, up to half a minute, and half of it is chance", () => {
  const longest = Array.from({ length: 50 }, (_, attempt) => pauseAfter(attempt, 1));
  expect(longest.slice(0, 8)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, MAX_PAUSE_MS]);
  expect(new Set(longest.slice(7))).toEqual(new Set([30_000]));
  expect(longest.map((_, attempt) => pauseAfter(attempt, 0))).toEqual(longest.map((pause) => pause / 2));
  expect(pauseAfter(Number.MAX_SAFE_INTEGER, 1)).toBe(MAX_PAUSE_MS);
});

test.each([
  ["closes the connection at once", undefined],
  ["rejects the secret after the subscription", "\u0000\u0000\u0000\u0008\u0000no!"],
])("a broker that %s is asked less and less often", async (_what, reply) => {
  const times: number[] = [];
  const broker = createServer((socket) => {
    times.push(performance.now());
    socket.on("error", () => {});
    if (reply !== undefined) socket.write("\u0000\u0000\u0000\u000a\u0001\u0001b\u0001\u0002\u0003");
    socket.end(reply ?? "");
  }).listen(0, "127.0.0.1");
  await once(broker, "listening");
  const address = broker.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const settings = { host: "127.0.0.1", port, tls: false, ident: "me", secret: "wrong", channels: ["c"] };
  const subscriber = subscribe(settings, { onMessages: async () => {}, log: pino({ level: "silent" }) });
  onTestFinished(async () => {
    await subscriber.stop();
    broker.close();
  });
  await expect.poll(() => times.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(5);
  const [first = 0, second = 0, third = 0, fourth = 0] = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  expect(first).toBeGreaterThan(pauseAfter(0, 0) - 20);
  // Whatever chance says, a pause is longer than the one before the last.
  expect(third).toBeGreaterThan(pauseAfter(2, 0) - 20);
  expect(fourth).toBeGreaterThan(pauseAfter(3, 0) - 20);
  expect(second).toBeGreaterThan(pauseAfter(1, 0) - 20);
  expect(subscriber.connectedSince()).toBeUndefined();
});

test("a stop does not wait for the pause", async () => {
  const settings = { host: "127.0.0.1", port: 1, tls: false, ident: "me", secret: "x", channels: ["c"] };
  const subscriber = subscribe(settings, { onMessages: async () => {}, log: pino({ level: "silent" }) });
  const start = performance.now();
  await subscriber.stop();
  expect(performance.now() - start).toBeLessThan(5_000);
});
