import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { deliveries, deliveryIdOf } from "@noisefloor/clickhouse/watches/deliveries.ts";
import { type LoggedEvent, readEvents } from "@noisefloor/clickhouse/watches/log.ts";
import type { Destination, DestinationType, Watch } from "@noisefloor/domain/watches/watch.ts";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { z } from "zod";
import { type Due, type Lane, openLane } from "./schedule/lane.ts";
import { nextAttemptAt } from "./schedule/retry-times.ts";
import { openStateWriter } from "./schedule/state-writer.ts";
import type { Sender } from "./sender.ts";

export type Deliveries = {
  /** Sends new events to all destinations of their watches. */
  add(events: readonly LoggedEvent[]): void;
  /** Goes on with events of before, at a start: those that were neither delivered nor given up are tried now. */
  load(events: readonly LoggedEvent[]): Promise<void>;
  /** Tries an event again now, also when it was delivered or given up; fails it when it is too old to be retried. */
  retry(event: LoggedEvent, destinationId: string): Promise<void>;
  /** How many deliveries wait or are under way. */
  pending(): number;
  /** Ends attempts under way within seconds. They, and what waits, are tried again after a `load`. */
  stop(): Promise<void>;
};

export type DeliveriesOptions = {
  readonly client: ClickHouseClient;
  readonly sender: Sender;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly watches: (id: string) => Watch | undefined;
  /** Called with the destination that says that it is gone for good: it is to be switched off. */
  readonly onGone: (watch: Watch, destinationId: string) => Promise<void>;
  /** Called for each attempt. */
  readonly onAttempt: (type: DestinationType, isDelivered: boolean) => void;
  /** Called with the first of consecutive failures of the store. */
  readonly onError: (error: unknown) => void;
  readonly onRecovery: () => void;
  /** When failed attempts are repeated. */
  readonly next?: typeof nextAttemptAt;
};

/** Attempts at the same time; of one destination there is one. */
const MAX_AT_ONCE = 32;
/** Of the bodies of events that wait; others are read again. */
const BODY_CACHE_BYTES = 16 * 2 ** 20;
/** How long attempts under way may still take when the service stops. */
const STOP_MS = 2_000;
const STORE_RETRY_MS = 5_000;

type Task = Due & {
  readonly event: Omit<LoggedEvent, "body">;
  readonly destinationId: string;
  readonly detectedAt: number;
  readonly attempts: number;
  /** Of its state. */
  readonly updatedAt: number;
};

const detectedSchema = z.object({ detected_at: z.string() });

/** Delivers events at least once, each destination by itself. */
export function openDeliveries(options: DeliveriesOptions): Deliveries {
  const {
    client,
    sender,
    now,
    watches,
    onGone,
    onAttempt,
    onError,
    onRecovery,
    next: nextAt = nextAttemptAt,
  } = options;
  const lanes = new Map<string, Lane<Task>>();
  const bodies = new LRUCache<string, string>({
    maxSize: BODY_CACHE_BYTES,
    sizeCalculation: (body) => body.length + 1,
  });
  const states = openStateWriter(client, { onError, onRecovery });
  const stop = new AbortController();
  const limit = pLimit(MAX_AT_ONCE);
  const underWay = new Set<Promise<unknown>>();
  let isStopping = false;

  const write = (
    { id, event, destinationId, updatedAt }: Task,
    state: {
      state: "pending" | "delivered" | "failed";
      attempts: number;
      status?: number;
      error?: string;
      next?: number;
    },
    lastAttemptAt = 0,
  ) => {
    // Of two states of one millisecond either could count.
    const at = Math.max(now(), updatedAt + 1);
    states.write({
      ...{ deliveryId: id, watchId: event.watchId, eventId: event.id, destinationId },
      ...{ state: state.state, attempts: state.attempts, lastStatus: state.status ?? 0, lastError: state.error ?? "" },
      ...{ lastAttemptAt, nextAttemptAt: state.next ?? 0, updatedAt: at },
    });
    return at;
  };

  const bodyOf = async ({ event: { id, look, index } }: Task) => {
    const kept = bodies.get(id);
    if (kept !== undefined) return kept;
    const [read] = await readEvents(client, { from: { look, index }, limit: 1 });
    return read?.id === id ? read.body : undefined;
  };

  /** Another process may have tried it since: it took over from this one, or was told to retry. */
  const isDoneElsewhere = async ({ id, updatedAt }: Task) => {
    const [known] = await deliveries.readByIds(client, [id]);
    return known !== undefined && known.updatedAt > updatedAt && known.state !== "pending";
  };

  const send = async (task: Task, watch: Watch, destination: Destination): Promise<Task | undefined> => {
    if (task.attempts > 0 && (await isDoneElsewhere(task))) return undefined;
    const body = await bodyOf(task);
    // Events are kept for longer than they are tried: this one was of a log that is no longer there.
    if (body === undefined) return undefined;
    const startedAt = now();
    const sent = await sender.send(destination, { ...task.event, body }, stop.signal);
    if (!sent.isDelivered && stop.signal.aborted) return task;
    onAttempt(destination.type, sent.isDelivered);
    const attempts = task.attempts + 1;
    const isDone = sent.isDelivered || sent.switchesOff;
    const next = isDone ? undefined : nextAt(attempts, task.detectedAt, now());
    const state = sent.isDelivered ? "delivered" : next === undefined ? "failed" : "pending";
    const { status, error } = sent;
    const updatedAt = write(task, { state, attempts, status, error, ...(next && { next }) }, startedAt);
    if (sent.switchesOff) await onGone(watch, destination.id);
    return next === undefined ? undefined : { ...task, attempts, updatedAt, dueAt: next };
  };

  const attempt = async (task: Task): Promise<Task | undefined> => {
    if (isStopping) return task;
    const watch = watches(task.event.watchId);
    // Deleted: nobody waits for it, nor can see what became of it.
    if (watch === undefined) return undefined;
    const destination = watch.deliver.find(({ id }) => id === task.destinationId);
    if (destination === undefined || destination.isOff) {
      const error = destination === undefined ? "the destination was removed" : "the destination is switched off";
      write(task, { state: "failed", attempts: task.attempts, error });
      return undefined;
    }
    try {
      return await send(task, watch, destination);
    } catch (error) {
      onError(error);
      return { ...task, dueAt: now() + STORE_RETRY_MS };
    }
  };

  const laneOf = (watchId: string, destinationId: string) => {
    const key = `${watchId}/${destinationId}`;
    const lane =
      lanes.get(key) ??
      openLane<Task>((task) => {
        const running = limit(() => attempt(task));
        underWay.add(running);
        return running.finally(() => underWay.delete(running));
      }, now);
    lanes.set(key, lane);
    return lane;
  };

  const taskOf = ({ body, ...event }: LoggedEvent, destinationId: string): Task => {
    bodies.set(event.id, body);
    const { detected_at } = detectedSchema.parse(JSON.parse(body));
    return {
      id: deliveryIdOf(event.id, destinationId),
      ...{ event, destinationId, detectedAt: Date.parse(detected_at), attempts: 0, updatedAt: 0, dueAt: now() },
    };
  };

  const tasksOf = (events: readonly LoggedEvent[]) =>
    events.flatMap((event) =>
      (watches(event.watchId)?.deliver ?? [])
        .map((destination) => ({ destination, task: taskOf(event, destination.id) }))
        .filter(({ destination, task }) => !destination.isOff && destination.addedAt <= task.detectedAt)
        .map(({ task }) => task),
    );

  const put = (task: Task) => laneOf(task.event.watchId, task.destinationId).put(task);

  /** @returns the task with what is known of it. */
  const withState = async (tasks: readonly Task[]) => {
    const read = await deliveries.readByIds(
      client,
      tasks.map(({ id }) => id),
    );
    const byId = new Map(read.map((each) => [each.deliveryId, each]));
    return tasks.map((task) => ({ task, known: byId.get(task.id) }));
  };

  return {
    add(events) {
      for (const task of tasksOf(events)) {
        const updatedAt = write(task, { state: "pending", attempts: 0, next: task.dueAt });
        put({ ...task, updatedAt });
      }
    },
    async load(events) {
      for (const { task, known } of await withState(tasksOf(events))) {
        if (known?.state === "delivered" || known?.state === "failed") continue;
        put({ ...task, attempts: known?.attempts ?? 0, updatedAt: known?.updatedAt ?? 0 });
      }
    },
    async retry(event, destinationId) {
      for (const { task, known } of await withState([taskOf(event, destinationId)])) {
        put({ ...task, attempts: known?.attempts ?? 0, updatedAt: known?.updatedAt ?? 0 });
      }
    },
    pending: () => [...lanes.values()].reduce((sum, lane) => sum + lane.size(), 0),
    async stop() {
      isStopping = true;
      for (const lane of lanes.values()) lane.stop();
      const late = setTimeout(() => stop.abort(), STOP_MS);
      await Promise.allSettled(underWay);
      clearTimeout(late);
      await states.stop();
    },
  };
}
