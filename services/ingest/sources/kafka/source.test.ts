import type { HandleBatch, StreamConsumer, StreamMessage } from "@noisefloor/kafka/port/port.ts";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { PLAIN } from "../../../../test/support/ingest/decode.ts";
import { noCounts } from "../../../../test/support/ingest/no-counts.ts";
import { noTags } from "../../../../test/support/ingest/no-tags.ts";
import { sumOf } from "../../formats/ignored.ts";
import { cowrie } from "../../formats/sensors/cowrie.ts";
import { drySink, type RecordSink } from "../../store/sink.ts";
import { type KafkaIngestOptions, startKafkaIngest } from "./source.ts";

const observation = JSON.stringify({
  observed_at: new Date().toISOString(),
  sensor_id: "s",
  source_ip: "45.0.0.1",
});

/** Passes messages to the intake as a consumer does, batch by batch. Settles when all are stored. */
async function handle(messages: readonly StreamMessage[], options: Partial<KafkaIngestOptions>): Promise<void> {
  const [handler] = await start(options);
  const { signal } = new AbortController();
  for (let rest = messages; handler !== undefined && rest.length > 0; ) {
    const { taken, stored } = await handler({ messages: rest, heartbeat: async () => {}, signal });
    rest = rest.slice(taken);
    await stored;
  }
}

/** A sink that is called with each batch, and resolves when it is stored. */
const sinkOf = (store: (accepted: number) => Promise<void> | void): RecordSink => ({
  publish: async (accepted) => store(accepted.length),
});

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
    sink: drySink,
    counts: noCounts,
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
  const messages = messagesOf(repeated("1\n".repeat(1_000), 30), () => read++);
  await handle(messages, {
    deadLetters: async (rejected) => {
      mostAtOnce = Math.max(mostAtOnce, read * 1_000 - kept);
      kept += rejected.length;
    },
  });
  expect([read, kept]).toEqual([30, 30_000]);
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

test("a batch of very many records is stored, and committed, in parts", async () => {
  const stored: number[] = [];
  await handle(messagesOf(repeated(`${observation}\n`.repeat(1_000), 30)), {
    sink: sinkOf((records) => void stored.push(records)),
  });
  expect(stored).toEqual([25_000, 5_000]);
});

test("dead letters that cannot be stored block the whole batch, and the messages behind them are not handled", async () => {
  let calls = 0;
  const deadLetters = async () => {
    if (++calls === 2) throw new Error("the table is lost");
  };
  const handled = handle(messagesOf(repeated("1\n".repeat(1_000), 60)), { deadLetters });
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
    raw: { formats: [cowrie], decode: PLAIN },
    counts: {
      add(records) {
        accepted += records.accepted.length;
      },
      addIgnored(counts) {
        ignored += sumOf(counts);
      },
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
  const prepared: (() => void)[] = [];
  const stored: (() => void)[] = [];
  const [handler] = await start({
    sink: {
      rows: {
        async prepare() {
          steps.push("prepare");
          await new Promise<void>((settle) => prepared.push(settle));
        },
      },
      async store() {
        await new Promise<void>((settle) => stored.push(settle));
        return new Map();
      },
    },
  });
  const { signal: isGood } = new AbortController();
  const handleOne = async (name: string, { heartbeat = async () => {}, signal = isGood } = {}) => {
    const batch = { messages: messagesOf([observation], () => steps.push(name)), heartbeat, signal };
    await (await handler?.(batch))?.stored;
  };
  const [first, second] = [handleOne("first"), handleOne("second")];
  await vi.waitFor(() => expect(steps).toEqual(["first", "prepare"]));
  prepared[0]?.();
  await vi.waitFor(() => expect(steps).toEqual(["first", "prepare", "second", "prepare"]));
  // A batch that is lost while it waits is not prepared, and does not hold up the next one.
  const lost = handleOne("lost", { heartbeat: () => Promise.reject(new Error("rebalanced")) });
  await expect(lost).rejects.toThrow("rebalanced");
  // Nor is one after a batch that failed.
  const failed = new AbortController();
  const after = handleOne("after", { signal: failed.signal });
  failed.abort(new Error("the one before failed"));
  await expect(after).rejects.toThrow("the one before failed");
  const third = handleOne("third");
  prepared[1]?.();
  await vi.waitFor(() => expect(steps.slice(4)).toEqual(["third", "prepare"]));
  prepared[2]?.();
  await vi.waitFor(() => expect(stored.length).toBe(3));
  for (const settle of stored) settle();
  await Promise.all([first, second, third]);
});

test("a batch that is lost while it is stored rejects at once, and the others go on", async () => {
  const [handler] = await start({ sink: sinkOf(() => new Promise(() => {})) });
  const lost = new AbortController();
  const heartbeat = async () => {};
  const handled = await handler?.({ messages: messagesOf([observation]), heartbeat, signal: lost.signal });
  lost.abort(new Error("rebalanced"));
  await expect(handled?.stored).rejects.toThrow("rebalanced");
  const { signal } = new AbortController();
  expect((await handler?.({ messages: messagesOf([observation]), heartbeat, signal }))?.taken).toBe(1);
});
