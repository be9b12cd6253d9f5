import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "./listener.ts";
import { type Message, openQueue } from "./queue.ts";

const QUEUE_BYTES = 64 * 1024;

/** A listener whose messages are kept once the store answers. */
async function listening({
  isSender = () => true,
  isAway = false,
}: {
  isSender?: () => boolean;
  isAway?: boolean;
} = {}) {
  const stored: string[] = [];
  const dropped: string[] = [];
  let answer = () => {};
  const back = isAway ? new Promise<void>((settle) => (answer = settle)) : Promise.resolve();
  const store = async (messages: readonly Message[]) => {
    await back;
    stored.push(...messages.map(({ bytes, sender }) => `${sender} ${bytes.toString()}`));
  };
  const [tcp, udp] = [openQueue(QUEUE_BYTES, store), openQueue(QUEUE_BYTES, store)];
  const onDropped = (reason: string, sender: string) => dropped.push(`${sender} ${reason}`);
  const { port, close } = await listen({ port: 0, isSender, tcp, udp, onDropped });
  onTestFinished(async () => {
    answer();
    await close();
  });
  return { port, stored, dropped, answer };
}

async function sendDatagrams(port: number, messages: readonly string[]) {
  const socket = createSocket("udp4");
  for (const message of messages) {
    await new Promise<void>((done, fail) =>
      socket.send(message, port, "127.0.0.1", (error) => (error === null ? done() : fail(error))),
    );
  }
  socket.close();
}

test("TCP and UDP arrive on one port, with the address that sent them", async () => {
  const { port, stored } = await listening();
  connect(port, "127.0.0.1").end("<13>one\n9 <13>three");
  await sendDatagrams(port, ["<13>two"]);
  await expect.poll(() => stored.toSorted()).toEqual(["127.0.0.1 <13>one", "127.0.0.1 <13>three", "127.0.0.1 <13>two"]);
});

test("who may not send is turned away, and counted", async () => {
  const { port, stored, dropped } = await listening({ isSender: () => false });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("<13>one\n");
  await once(socket, "close");
  await sendDatagrams(port, ["<13>two"]);
  await expect.poll(() => dropped).toEqual(["127.0.0.1 sender", "127.0.0.1 sender"]);
  expect(stored).toEqual([]);
});

test("while the store is away, a TCP sender waits and loses nothing; datagrams beyond the queue are counted", async () => {
  const { port, stored, dropped, answer } = await listening({ isAway: true });
  const message = (index: number) => `<13>${String(index).padStart(6, "0")} ${"x".repeat(1_000)}`;
  const count = 40_000;
  const socket = connect(port, "127.0.0.1");
  const sent = (async () => {
    for (let index = 0; index < count; index++) if (!socket.write(`${message(index)}\n`)) await once(socket, "drain");
    socket.end();
  })();
  await sendDatagrams(
    port,
    Array.from({ length: 100 }, (_, index) => message(index)),
  );
  await expect.poll(() => dropped.length).toBeGreaterThan(0);
  // What the system and the queue hold is less than all of it.
  expect(socket.bytesWritten - socket.writableLength).toBeLessThan(count * message(0).length);
  answer();
  await sent;
  await expect.poll(() => stored.length, { timeout: 30_000 }).toBe(count + 100 - dropped.length);
  expect(new Set(dropped)).toEqual(new Set(["127.0.0.1 queue-full"]));
});

test("a port that is taken is an error that names it", async () => {
  const other = createServer().listen(0);
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const queue = openQueue(1, async () => {});
  await expect(listen({ port, isSender: () => true, tcp: queue, udp: queue, onDropped: () => {} })).rejects.toThrow(
    new RegExp(`EADDRINUSE.*:${port}$`),
  );
});
