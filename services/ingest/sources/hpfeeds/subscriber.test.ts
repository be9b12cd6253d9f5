import { once } from "node:events";
import { createServer } from "node:net";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { subscribe } from "./subscriber.ts";

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
  // Half of each pause is chance.
  expect(first).toBeGreaterThan(125 - 20);
  expect(second).toBeGreaterThan(250 - 20);
  expect(third).toBeGreaterThan(500 - 20);
  expect(fourth).toBeGreaterThan(1_000 - 20);
  expect(subscriber.connectedSince()).toBeUndefined();
});

test("a stop does not wait for the pause", async () => {
  const settings = { host: "127.0.0.1", port: 1, tls: false, ident: "me", secret: "x", channels: ["c"] };
  const subscriber = subscribe(settings, { onMessages: async () => {}, log: pino({ level: "silent" }) });
  const start = performance.now();
  await subscriber.stop();
  expect(performance.now() - start).toBeLessThan(5_000);
});
