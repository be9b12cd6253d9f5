import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { countSimulated } from "@noisefloor/clickhouse/sensors/simulated-counts.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { prepareAccepted } from "@noisefloor/ingest/pipeline/pipeline.ts";
import { observationSink } from "@noisefloor/ingest/store/observation-sink.ts";
import { createCloseStack } from "../../framework/close-stack.ts";
import type { CommandContext } from "../../framework/command.ts";
import { openRows } from "../../rows/row-options.ts";
import type { Store } from "../../store/store.ts";
import { SENSOR_PREFIX } from "../fleet.ts";
import { type SimulationTarget, toAccepted } from "./target.ts";

const RETRY_FOR_MS = 60_000;

/** Straight into the store, as a replay stores its records. */
export async function storeTarget(context: CommandContext, { client }: Store): Promise<SimulationTarget> {
  const closeStack = createCloseStack();
  const catalogue = await openTagCatalogue(client);
  closeStack.add(catalogue.stop);
  const { rows, stop } = await openRows(context, client, catalogue);
  closeStack.add(stop);
  const { assertSpace, ...disk } = await openDiskGuard(client, { floorBytes: context.settings.minFreeDiskBytes });
  closeStack.add(disk.stop);
  const sink = observationSink(client, { retryForMs: RETRY_FOR_MS, assertSpace, rows });
  const counted = countingSensors(client);
  closeStack.add(counted.finish);
  return {
    verb: "stored",
    async send(observations) {
      const accepted = observations.map((one) => toAccepted(one, catalogue));
      const store = await prepareAccepted(accepted, sink);
      const refused = await store();
      await counted.add(observations);
      return accepted.length - refused.size;
    },
    close: closeStack.closeAll,
  };
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
    async add(observations: readonly ValidObservation[]) {
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
