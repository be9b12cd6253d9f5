import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { countSimulated } from "@noisefloor/clickhouse/tables/simulated-activity.ts";
import { insertEncoded } from "@noisefloor/ingest/store/insert.ts";
import { insertQueue } from "@noisefloor/ingest/store/insert-queue.ts";
import { openInsertQueue } from "@noisefloor/ingest/store/sharded-queue.ts";
import { compareTexts, inTableOrder } from "@noisefloor/ingest/store/table-order.ts";
import { createCloseStack } from "../../framework/close-stack.ts";
import type { CommandContext } from "../../framework/command.ts";
import { openRows } from "../../row-options.ts";
import type { Store } from "../../store.ts";
import { SENSOR_PREFIX } from "../fleet.ts";
import { observationIdOf } from "../observation.ts";
import type { SimulatedInternet, SimulatedObservation } from "../simulate.ts";
import { simulatedEncoder } from "./encode.ts";
import type { SimulationTarget } from "./target.ts";

const RETRY_FOR_MS = 60_000;
/** ClickHouse takes a quarter less time for a row than in inserts of half as many. Larger ones take it more memory. */
const MAX_BATCH = 100_000;

/** Straight into the store, by the same rows as everything else. Each of its sessions is one record. */
export async function storeTarget(
  internet: SimulatedInternet,
  context: CommandContext,
  { client }: Store,
): Promise<SimulationTarget> {
  const closeStack = createCloseStack();
  const catalogue = await openTagCatalogue(client);
  closeStack.add(catalogue.stop);
  const { stop, ...making } = await openRows(context, client, catalogue);
  closeStack.add(stop);
  const { assertSpace, ...disk } = await openDiskGuard(client, { floorBytes: context.settings.minFreeDiskBytes });
  closeStack.add(disk.stop);
  const encoder = simulatedEncoder({ internet, catalogue, ...making });
  const open = (server: ClickHouseClient) =>
    insertQueue({
      insert: insertEncoded(server, encoder, assertSpace),
      retryForMs: RETRY_FOR_MS,
      intervalMs: 0,
    });
  // A queue makes one insert at a time, which ClickHouse reads with one thread: with two, it need not wait for Node.
  const openQueue = () => openInsertQueue(client, open, { forMs: RETRY_FOR_MS });
  const queues = [openQueue(), openQueue()] as const;
  let [next, afterNext] = queues;
  const counted = countingSensors(client);
  closeStack.add(counted.finish);
  return {
    // When an insert ends, the next batch is there.
    ...{ verb: "stored", maxBatch: MAX_BATCH, concurrent: queues.length + 1 },
    async send(observations) {
      const queue = next;
      [next, afterNext] = [afterNext, next];
      // ClickHouse need not move the columns of each row then, and its views find the rows of a source together.
      const sorted = inTableOrder(observations, ({ source }) => source.address, compareKeys);
      const rejected = await queue.store(sorted, 0, { hasMore: true });
      await counted.add(observations);
      return observations.length - rejected.length;
    },
    close: closeStack.closeAll,
  };
}

/** By the sorting key of the table after the address; the dataset of a simulated sensor says its workspace. */
function compareKeys(one: SimulatedObservation, other: SimulatedObservation): number {
  return (
    compareTexts(one.sensor.dataset, other.sensor.dataset) ||
    one.observedAt - other.observedAt ||
    compareTexts(one.sensor.id, other.sensor.id) ||
    compareTexts(observationIdOf(one), observationIdOf(other))
  );
}

const COUNT_EVERY_MS = 60_000;

/** Counts what the sensors have sent, as the intake does for others: once a minute, and at the end. */
function countingSensors(client: ClickHouseClient) {
  let span: { from: number; to: number } | undefined;
  let countedAt = performance.now();
  const count = async () => {
    const wanted = span;
    span = undefined;
    countedAt = performance.now();
    if (wanted !== undefined) await countSimulated(client, SENSOR_PREFIX, wanted);
  };
  return {
    async add(observations: readonly SimulatedObservation[]) {
      for (const { observedAt } of observations) {
        span ??= { from: observedAt, to: observedAt };
        span.from = Math.min(span.from, observedAt);
        span.to = Math.max(span.to, observedAt);
      }
      if (performance.now() - countedAt >= COUNT_EVERY_MS) await count();
    },
    finish: count,
  };
}
