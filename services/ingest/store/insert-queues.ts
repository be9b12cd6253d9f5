import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { type RetryOptions, retry } from "@noisefloor/domain/time/retry.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import type { InsertQueue, RejectedRow } from "./insert-queue.ts";

/** Its address says which owner has it. */
type WithSource = { readonly source_ip: string };

/**
 * A queue for each owner of a store's rows: one server has a single one. On a cluster rows go straight to their owner
 * and not through a Distributed table: when a server is killed during such an insert, and the insert is repeated with
 * its token, a rollup can lack rows that the observations have.
 * @param open opens the queue of one owner.
 * @param retrying how long to ask who they are, with the first rows.
 */
export function openInsertQueue<Row extends WithSource>(
  client: ClickHouseClient,
  open: (server: ClickHouseClient) => InsertQueue<Row>,
  retrying: RetryOptions,
): InsertQueue<Row> {
  const openAll = async () => {
    const [first, ...others] = (await client.owners()).map(open);
    if (first === undefined) throw new RangeError("a store without servers");
    return others.length === 0 ? first : queueByAddress([first, ...others], await client.ownerOf());
  };
  const openOnce = createSingleFlight<"queue", InsertQueue<Row>>({ keepsResults: true });
  return {
    async store(rows, bytes, signal) {
      const queue = await openOnce("queue", () => retry(openAll, retrying));
      return queue.store(rows, bytes, signal);
    },
  };
}

/**
 * Sends each row to the queue of its address. Every queue inserts and retries by itself: a server that is away holds up
 * its own rows, and the callers that wait for them, but no other's.
 * @param indexOf the index of an address's queue.
 */
function queueByAddress<Row extends WithSource>(
  queues: readonly InsertQueue<Row>[],
  indexOf: (address: number) => number,
): InsertQueue<Row> {
  return {
    async store(rows, bytes, signal) {
      const parts = partition(rows, indexOf);
      const stored = [...parts].map(async ([at, indexes]) => {
        const queue = queues[at];
        if (queue === undefined) throw new RangeError(`there is no queue ${at}`);
        const own = indexes.flatMap((index) => rows[index] ?? []);
        const rejected = await queue.store(own, Math.ceil((bytes * own.length) / rows.length), signal);
        return rejected.map(({ index, detail }): RejectedRow => ({ index: indexes[index] ?? 0, detail }));
      });
      // Each part is waited for, also after one has failed: none may still be on its way when the caller goes on.
      const ended = await Promise.allSettled(stored);
      return ended.flatMap((part) => {
        if (part.status === "rejected") throw part.reason;
        return part.value;
      });
    },
  };
}

/** The indexes of each queue's rows. */
function partition(
  rows: readonly WithSource[],
  indexOf: (address: number) => number,
): ReadonlyMap<number, readonly number[]> {
  const parts = new Map<number, number[]>();
  for (const [index, row] of rows.entries()) {
    const at = indexOf(ipv4ToNumber(row.source_ip));
    const part = parts.get(at);
    if (part === undefined) parts.set(at, [index]);
    else part.push(index);
  }
  return parts;
}
