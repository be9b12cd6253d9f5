import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { KafkaError as StreamError } from "./errors.ts";
import { toStreamMessage } from "./message.ts";
import type { StreamMessage } from "./port.ts";

/** The offsets of a partition from `from` up to, but without, `to`. */
export type Span = { readonly partition: number; readonly from: bigint; readonly to: bigint };

export type ReadTopic = {
  readonly topic: string;
  /** What the consumer's group is called at the beginning; brokers may grant rights by it. */
  readonly groupPrefix: string;
  /** Chooses among all that the topic holds at the start; the whole of it when left out. */
  readonly choose?: (held: readonly Span[]) => readonly Span[];
  /** Hears how many offsets there are to read, before the first message. */
  readonly onStart?: (offsets: number) => void;
  /** Some messages of one partition, in order. The next ones come when it has resolved. */
  readonly handle: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly signal?: AbortSignal;
  /**
   * A broker that has what we ask for sends it at once: so long without anything is a fault and not a pause. A minute
   * unless said otherwise.
   */
  readonly stallMs?: number;
};

/** How often we look whether something has come for a while. */
const LOOKS_PER_STALL = 12;
const HEARTBEAT_MS = 3_000;

/**
 * Reads a topic from its beginning up to where it ends at the start of the call, commits nothing and leaves no group
 * behind. A topic that does not exist holds nothing.
 * @returns false when the signal ended it before the end.
 * @throws StreamError when the brokers fail; errors of `handle` come through as they are.
 */
export async function readTopic(connection: KafkaConnection, ask: ReadTopic, log: Logger): Promise<boolean> {
  const kafka = connectKafka(connection, log);
  const admin = kafka.admin();
  const groupId = `${ask.groupPrefix}-once-${randomUUID()}`;
  try {
    await admin.connect();
    if (!(await admin.listTopics()).includes(ask.topic)) {
      ask.onStart?.(0);
      return true;
    }
    const held = await heldBy(admin, ask.topic);
    const spans = (ask.choose?.(held) ?? held).filter(({ from, to }) => from < to);
    ask.onStart?.(spans.reduce((sum, { from, to }) => sum + Number(to - from), 0));
    if (spans.length === 0) return true;
    const consumer = kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      sessionTimeout: 30_000,
      // A partition that has no more holds up the others, and the end, for as long as this.
      maxWaitTimeInMs: 100,
    });
    try {
      return await consume(consumer, admin, spans, ask);
    } finally {
      await consumer.disconnect();
      // Without a commit brokers forget an empty group by themselves, but only after some minutes.
      await admin.deleteGroups([groupId]).catch((error: unknown) => log.debug({ err: error }, "the group stays"));
    }
  } catch (error) {
    if (error instanceof HandlerError) throw error.cause;
    const reason = error instanceof Error ? error.message : String(error);
    const brokers = connection.brokers.join(", ");
    throw new StreamError(`the topic ${ask.topic} cannot be read from ${brokers}: ${reason}`, { cause: error });
  } finally {
    await admin.disconnect();
  }
}

type Admin = ReturnType<ReturnType<typeof connectKafka>["admin"]>;
type Consumer = ReturnType<ReturnType<typeof connectKafka>["consumer"]>;

async function heldBy(admin: Admin, topic: string): Promise<Span[]> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return offsets.map(({ partition, low, high }) => ({ partition, from: BigInt(low), to: BigInt(high) }));
}

/** What went wrong in the caller's own work, on its way through the library. */
class HandlerError extends Error {
  override name = "HandlerError";
}

async function consume(consumer: Consumer, admin: Admin, spans: readonly Span[], ask: ReadTopic): Promise<boolean> {
  const { topic, signal, stallMs = 60_000 } = ask;
  const lookMs = stallMs / LOOKS_PER_STALL;
  /** What is still to be read. */
  const open = new Map(spans.map((span) => [span.partition, span]));
  let lastProgress = Date.now();
  let isHandling = false;
  // The next messages come when these are done with: for how long that takes the brokers are not to blame.
  const quietMs = () => (isHandling ? 0 : Date.now() - lastProgress);
  let settle: (isWhole: boolean) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<boolean>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  ended.catch(() => {});
  const close = (partition: number) => {
    open.delete(partition);
    consumer.pause([{ topic, partitions: [partition] }]);
    if (open.size === 0) settle(true);
  };
  const readUpTo = (partition: number, offset: string) => {
    const [span, from] = [open.get(partition), BigInt(offset) + 1n];
    if (span === undefined) return;
    if (from >= span.to) close(partition);
    else if (from > span.from) open.set(partition, { ...span, from });
  };
  const stop = () => settle(false);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) settle(false);
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) fail(payload.error);
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // Nothing is committed, so that with each joining the library would begin anew.
    for (const partition of payload.memberAssignment[topic] ?? []) {
      const span = open.get(partition);
      if (span === undefined) consumer.pause([{ topic, partitions: [partition] }]);
      else consumer.seek({ topic, partition, offset: span.from.toString() });
    }
  });
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, batchSize, lastOffset } }) => {
    // Marks of transactions, or what was taken back with one: they come to no handler.
    if (batchSize > 0) return;
    lastProgress = Date.now();
    readUpTo(partition, lastOffset);
  });
  const timer = setInterval(() => look().catch(fail), lookMs);
  const look = async () => {
    if (quietMs() < lookMs) return;
    // What we wait for may have been deleted by age meanwhile: then nothing will come.
    for (const { partition, from } of await heldBy(admin, topic)) {
      const span = open.get(partition);
      if (span !== undefined && from >= span.to) close(partition);
    }
    if (quietMs() > stallMs) fail(new Error(`nothing came for ${stallMs / 1_000} seconds`));
  };
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat }) => {
        const span = open.get(batch.partition);
        if (span === undefined || signal?.aborted) return;
        const messages = batch.messages
          .map((message) => toStreamMessage(topic, batch.partition, message))
          .filter(({ offset }) => BigInt(offset) >= span.from && BigInt(offset) < span.to);
        const beat = setInterval(() => heartbeat().catch(() => {}), HEARTBEAT_MS);
        isHandling = true;
        try {
          if (messages.length > 0) await ask.handle(messages);
        } catch (error) {
          fail(new HandlerError("", { cause: error }));
          return;
        } finally {
          clearInterval(beat);
          lastProgress = Date.now();
          isHandling = false;
        }
        readUpTo(batch.partition, batch.lastOffset());
      },
    });
    return await ended;
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", stop);
    await consumer.stop();
  }
}
