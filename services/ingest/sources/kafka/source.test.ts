import type { HandleBatch, StreamConsumer, StreamMessage } from "@noisefloor/kafka/port.ts";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { noTags } from "../../../../test/support/ingest/no-tags.ts";
import { cowrie } from "../../formats/sensors/cowrie.ts";
import { type KafkaIngestOptions, startKafkaIngest } from "./source.ts";

const observation = JSON.stringify({
  observed_at: new Date().toISOString(),
  sensor_id: "s",
  source_ip: "45.0.0.1",
});

/** Passes one batch to the intake as a source does. Settles with its handler. */
async function handle(messages: readonly StreamMessage[], options: Partial<KafkaIngestOptions>): Promise<void> {
  const { signal } = new AbortController();
  const batch = { messages, hasMore: false, heartbeat: async () => {}, onPrepared() {}, signal };
  for (const handler of await start(options)) await handler(batch);
}

/** @returns what a source calls with each batch. */
async function start(options: Partial<KafkaIngestOptions>): Promise<readonly HandleBatch[]> {
  const handlers: HandleBatch[] = [];
  const source: StreamConsumer = {
    start: async (handler) => void handlers.push(handler),
    isAlive: () => true,
    stop: async () => {},
    failure: new Promise(() => {}),
  };
  await startKafkaIngest({
    catalogue: noTags,
    retentionDays: () => 90,
    now: Date.now,
    sink: async () => [],
    deadLetters: async () => {},
    log: pino({ level: "silent" }),
    source,
    ...options,
  });
  return handlers;
}

/** Messages with a callback for each read of their value. */
function messagesOf(values: readonly string[], onRead = () => {}): StreamMessage[] {
  return values.map((text, offset) => {
    const value = Buffer.from(text);
    const message = { topic: "t", partition: 0, offset: String(offset), key: null, headers: {}, timestamp: 0 };
    return {
      ...message,
      get value() {
        onRead();
        return value;
      },
    };
  });
}

const repeated = (text: string, count: number) => Array.from({ length: count }, () => text);

test("messages with very many records are split no faster than their records are stored", async () => {
  let [read, kept, mostAtOnce] = [0, 0, 0];
  const messages = messagesOf(repeated("1\n".repeat(1_000), 60), () => read++);
  await handle(messages, {
    deadLetters: async (rejected) => {
      mostAtOnce = Math.max(mostAtOnce, read * 1_000 - kept);
      kept += rejected.length;
    },
  });
  expect([read, kept]).toEqual([60, 60_000]);
  expect(mostAtOnce).toBeLessThanOrEqual(26_000);
});

test("messages that cannot be split are stored at the same pace", async () => {
  let [read, kept, mostAtOnce] = [0, 0, 0];
  await handle(
    messagesOf(repeated("", 30_000), () => read++),
    {
      deadLetters: async (rejected) => {
        mostAtOnce = Math.max(mostAtOnce, read - kept);
        kept += rejected.length;
      },
    },
  );
  expect([kept, mostAtOnce <= 26_000]).toEqual([30_000, true]);
});

test("when a batch is stored in parts, only the last part waits for other rows", async () => {
  const sunk: unknown[] = [];
  await handle(messagesOf(repeated(`${observation}\n`.repeat(1_000), 30)), {
    sink: async ({ accepted }, sinkOptions) => {
      sunk.push([accepted.length, sinkOptions?.hasMore]);
      return [];
    },
  });
  expect(sunk).toEqual([
    [25_000, true],
    [5_000, false],
  ]);
});

test("a batch is prepared when its last part waits for the store", async () => {
  const steps: unknown[] = [];
  const handlers = await start({
    sink: async ({ accepted }, { onWaiting = () => {} } = {}) => {
      steps.push(accepted.length);
      onWaiting();
      steps.push("waits");
      return [];
    },
  });
  const messages = messagesOf(repeated(`${observation}\n`.repeat(1_000), 30));
  const { signal } = new AbortController();
  const batch = {
    messages,
    hasMore: true,
    heartbeat: async () => {},
    onPrepared: () => steps.push("prepared"),
    signal,
  };
  for (const handler of handlers) await handler(batch);
  expect(steps).toEqual([25_000, "waits", 5_000, "prepared", "waits"]);
});

test("dead letters that cannot be stored block the whole batch, and the messages behind them are not handled", async () => {
  let calls = 0;
  const deadLetters = async () => {
    if (++calls === 2) throw new Error("the table is lost");
  };
  const handled = handle(messagesOf(repeated("1\n".repeat(1_000), 100)), { deadLetters });
  await expect(handled).rejects.toThrow("the table is lost");
  expect(calls).toBe(2);
});

test("while records of a raw topic are decoded, others get their turn, and no record is left out", async () => {
  let turns = 0;
  let isDone = false;
  const turn = () => {
    if (isDone) return;
    turns++;
    setImmediate(turn);
  };
  setImmediate(turn);
  let [accepted, ignored, turnsBefore] = [0, 0, 0];
  const line = (event: string) =>
    JSON.stringify({
      eventid: `cowrie.${event}`,
      src_ip: "45.0.0.1",
      session: "s",
      timestamp: new Date().toISOString(),
    });
  const messages = repeated(`${line("login.failed")}\n${line("log.closed")}\n`.repeat(500), 10);
  await handle(messagesOf(messages), {
    raw: { formats: [cowrie], decode: PLAIN, onIgnored: (_reason, records) => (ignored += records) },
    sink: async (validated) => {
      accepted += validated.accepted.length;
      return [];
    },
    // The first thing that validation asks for, after all is decoded.
    retentionDays: () => {
      turnsBefore = turns;
      return 90;
    },
  });
  isDone = true;
  expect([accepted, ignored]).toEqual([5_000, 5_000]);
  expect(turnsBefore).toBeGreaterThanOrEqual(10);
});

test("of the batches of several partitions, one is prepared while the one before is stored", async () => {
  const steps: string[] = [];
  const waiting: (() => void)[] = [];
  const stored: (() => void)[] = [];
  const [handler] = await start({
    sink: (_validated, { onWaiting = () => {} } = {}) => {
      steps.push("prepared");
      waiting.push(onWaiting);
      return new Promise((settle) => stored.push(() => settle([])));
    },
  });
  const { signal: isGood } = new AbortController();
  const handleOne = (name: string, { heartbeat = async () => {}, signal = isGood } = {}) =>
    handler?.({
      messages: messagesOf([observation], () => steps.push(name)),
      hasMore: false,
      heartbeat,
      onPrepared() {},
      signal,
    });
  const [first, second] = [handleOne("first"), handleOne("second")];
  await vi.waitFor(() => expect(steps).toEqual(["first", "prepared"]));
  waiting[0]?.();
  await vi.waitFor(() => expect(steps).toEqual(["first", "prepared", "second", "prepared"]));
  // A batch that is lost while it waits for its turn is not prepared, and does not hold up the next one.
  const lost = handleOne("lost", { heartbeat: () => Promise.reject(new Error("rebalanced")) });
  await expect(lost).rejects.toThrow("rebalanced");
  // Nor is one behind a batch that failed.
  const failed = new AbortController();
  const behind = handleOne("behind", { signal: failed.signal });
  failed.abort(new Error("the one before failed"));
  await expect(behind).rejects.toThrow("the one before failed");
  const third = handleOne("third");
  waiting[1]?.();
  await vi.waitFor(() => expect(steps.slice(4)).toEqual(["third", "prepared"]));
  for (const settle of stored) settle();
  await Promise.all([first, second, third]);
});
