import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import kafkajs, { type EachBatchPayload } from "kafkajs";
import { toStreamMessage } from "./message.ts";
import type { HandleBatch } from "./port/port.ts";

export type DeliveriesOptions = {
  readonly handle: HandleBatch;
  /** Called when a batch fails that counted as handled already: the library must fetch again from its first message. */
  readonly onLateFailure: (error: unknown, from: TopicOffset) => void;
};

export type TopicOffset = { readonly topic: string; readonly partition: number; readonly offset: string };

/** Hands what the library fetches to the handler, and commits what that has finished. */
export type Deliveries = {
  /**
   * Handles what was fetched of a partition. Resolves when all of it is committed or, while the partition has more, as
   * soon as its last batch is prepared.
   */
  deliver(payload: EachBatchPayload): Promise<void>;
  /** Resolves when all that was delivered of a partition is committed; rejects when some of it comes again. */
  committed(partition: number): Promise<void>;
  /** The consumer has joined its group again: what was not committed is delivered again, here or elsewhere. */
  rejoined(): void;
  /** Delivers no more. Resolves when what was delivered is committed, or has failed. */
  stop(): Promise<void>;
};

/** A partition's messages in order, from an offset at which the library began to fetch. */
type Lane = {
  /** The offset after the last message that was delivered. */
  deliveredOffset: bigint;
  /** The offset after the last message that is committed: the next one to read after a restart. */
  committedOffset: bigint;
  /** Resolves when all batches that were delivered are committed. Rejects with the error of the first that failed. */
  committed: Promise<void>;
  failure: { readonly error: unknown } | undefined;
  /** Whether the library waits for a batch, and so learns when one fails. */
  isAttended: boolean;
  /** What is handled now. */
  readonly handling: Set<{ readonly handled: Promise<void>; readonly aborted: AbortController }>;
  /** Whether its uncommitted messages are delivered again, as the consumer has joined its group again. */
  isOver: boolean;
};

const REJOINED = "the consumer has joined its group again";

/**
 * The library fetches only when all messages of the response before are handled. If that meant stored, the store would
 * have nothing to do whenever a response is fetched and its first messages are prepared. So a partition's last messages
 * count as handled when they are prepared. If they cannot be stored then, the partition is fetched again from there.
 */
export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const lanes = new Map<number, Lane>();
  let isStopping = false;

  return {
    async deliver(payload) {
      // The library delivers all partitions in one turn, and cutting a large batch blocks the event loop.
      await yieldToEventLoop();
      const { batch, resolveOffset } = payload;
      const lane = await laneFor(lanes, payload);
      lane.isAttended = true;
      // The library fetches next what follows the resolved offset.
      let resolved: bigint | undefined;
      try {
        const mayGoOn = () => payload.isRunning() && !isStopping;
        const isAhead = await deliverBatches(lane, payload, mayGoOn, options);
        if (!isAhead) await lane.committed;
        if (lane.failure !== undefined) throw lane.failure.error;
        if (isAhead) resolved = BigInt(batch.lastOffset());
      } catch (error) {
        // Before the library may deliver the messages again.
        await settled(lane);
        if (lanes.get(batch.partition) === lane) lanes.delete(batch.partition);
        if (!lane.isOver) throw error;
      } finally {
        lane.isAttended = false;
        if (!lane.isOver) resolveOffset(String(resolved ?? lane.committedOffset - 1n));
      }
      // Else the library would fetch the same again and again until it is stopped.
      if (isStopping) await allSettled(lanes);
    },
    async committed(partition) {
      await lanes.get(partition)?.committed;
    },
    rejoined() {
      for (const lane of lanes.values()) {
        lane.isOver = true;
        for (const { aborted } of lane.handling) aborted.abort(new kafkajs.KafkaJSError(REJOINED));
      }
    },
    async stop() {
      isStopping = true;
      await allSettled(lanes);
    },
  };
}

/**
 * Where these messages belong: after those of the lane, or in a new one when they are delivered again.
 * @throws the error of earlier messages that have failed and do not come before these.
 */
async function laneFor(lanes: Map<number, Lane>, { batch, resolveOffset }: EachBatchPayload): Promise<Lane> {
  const first = BigInt(batch.firstOffset() ?? batch.lastOffset());
  const before = lanes.get(batch.partition);
  if (before !== undefined) {
    const isAgain = before.isOver || first < before.deliveredOffset;
    if (!isAgain && before.failure === undefined) return before;
    await settled(before);
    lanes.delete(batch.partition);
    if (!isAgain && before.failure !== undefined) {
      resolveOffset(String(before.committedOffset - 1n));
      throw before.failure.error;
    }
  }
  const lane: Lane = {
    deliveredOffset: first,
    committedOffset: first,
    committed: Promise.resolve(),
    failure: undefined,
    isAttended: false,
    handling: new Set(),
    isOver: false,
  };
  lanes.set(batch.partition, lane);
  return lane;
}

/**
 * Delivers messages as the handler takes them: one batch is prepared while the one before is stored.
 * @returns whether all are prepared and the partition has more; else all must be committed first.
 */
async function deliverBatches(
  lane: Lane,
  { batch, heartbeat, commitOffsetsIfNecessary }: EachBatchPayload,
  mayGoOn: () => boolean,
  { handle, onLateFailure }: DeliveriesOptions,
): Promise<boolean> {
  const { topic, partition } = batch;
  const hasMore = BigInt(batch.highWatermark) > BigInt(batch.lastOffset()) + 1n;
  for (let rest = batch.messages.map((message) => toStreamMessage(topic, partition, message)); rest.length > 0; ) {
    if (!mayGoOn()) return false;
    const earlier = lane.committed;
    const aborted = new AbortController();
    earlier.catch((error: unknown) => aborted.abort(error));
    const messages = rest;
    const prepared = handle({ messages, heartbeat, signal: aborted.signal }).then(({ taken, stored }) => {
      // Control records may follow the last message, and no handler is called for them: commit past them too.
      const last = taken < messages.length ? messages[taken - 1]?.offset : batch.lastOffset();
      return { taken, stored, end: BigInt(last ?? batch.lastOffset()) + 1n };
    });
    const one = { handled: prepared.then(({ stored }) => stored), aborted };
    lane.handling.add(one);
    one.handled.catch(() => {}).finally(() => lane.handling.delete(one));
    const commit = async () => {
      await earlier;
      await one.handled;
      const { end } = await prepared;
      if (lane.isOver) throw new kafkajs.KafkaJSError(REJOINED);
      const partitions = [{ partition, offset: end.toString() }];
      // Not consumer.commitOffsets: after a stop was requested it returns without a commit.
      await commitOffsetsIfNecessary({ topics: [{ topic, partitions }] });
      lane.committedOffset = end;
    };
    lane.committed = commit();
    lane.committed.catch((error: unknown) => {
      if (lane.failure !== undefined) return;
      lane.failure = { error };
      if (lane.isAttended || lane.isOver) return;
      onLateFailure(error, { topic, partition, offset: lane.committedOffset.toString() });
    });
    await earlier;
    const { taken, end } = await prepared;
    lane.deliveredOffset = end;
    rest = messages.slice(taken);
  }
  return hasMore;
}

/** Never rejects. */
async function settled({ handling, committed }: Lane): Promise<void> {
  await Promise.allSettled([committed, ...[...handling].map(({ handled }) => handled)]);
}

async function allSettled(lanes: ReadonlyMap<number, Lane>): Promise<void> {
  await Promise.all([...lanes.values()].map(settled));
}
