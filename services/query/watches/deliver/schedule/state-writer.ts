import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { type Delivery, deliveries } from "@noisefloor/clickhouse/watches/deliveries.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";

export type StateWriter = {
  /** Writes it now, with all that wait, and again each second until it is stored. */
  write(state: Delivery): void;
  /** Writes what waits, once. */
  stop(): Promise<void>;
};

const RETRY_MS = 1_000;

/**
 * Stores how deliveries go. Many that change at the same time are one insert. What is not stored when the process ends is
 * delivered once more.
 */
export function openStateWriter(
  client: ClickHouseClient,
  on: { readonly onError: (error: unknown) => void; readonly onRecovery: () => void },
): StateWriter {
  const unwritten = new Map<string, Delivery>();
  const writeAll = async () => {
    while (unwritten.size > 0) {
      const states = [...unwritten.values()];
      await deliveries.write(client, states);
      for (const state of states) if (unwritten.get(state.deliveryId) === state) unwritten.delete(state.deliveryId);
    }
  };
  const writer = repeatEvery(writeAll, { everyMs: RETRY_MS, ...on });
  return {
    write(state) {
      unwritten.set(state.deliveryId, state);
      void writer.run();
    },
    async stop() {
      await writer.stop();
      await writer.run();
    },
  };
}
