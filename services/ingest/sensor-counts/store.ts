import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { Logger } from "pino";
import type { SensorCounter } from "./counter.ts";

const FLUSH_MS = 10_000;
const PER_INSERT = { items: 20_000, bytes: Number.POSITIVE_INFINITY };
/** A store that hangs must not keep the process from stopping. */
const CLOSE_MS = 5_000;
const LOOKS_PER_LINE = 6;
/** One line says whose records were rejected, however many senders there are. */
const LOGGED_SENDERS = 5;

/**
 * Stores the counts by sensor every ten seconds and at the end, so that they cost no batch an insert of its own. While
 * the store is away the counts stay in memory.
 */
export function storeSensorCounts(
  counter: SensorCounter,
  client: ClickHouseClient,
  log: Pick<Logger, "warn" | "info">,
  flushMs: number = FLUSH_MS,
): { close(): Promise<void> } {
  const store = async () => {
    const taken = counter.take();
    if (taken.length === 0) return;
    try {
      // Copies: an entry grows on while its insert runs.
      const rows = taken.map((entry) => ({ ...entry }));
      for (const chunk of chunksOf(rows, () => 0, PER_INSERT)) await writeSensorCounts(client, chunk);
    } catch (error) {
      counter.giveBack(taken);
      throw error;
    }
  };
  let looks = 0;
  const logOutcomes = (isLast: boolean) => {
    // A monitor's own traffic is ignored all the time: that is worth a line a minute.
    const isDue = isLast || ++looks % LOOKS_PER_LINE === 0;
    if (!isDue && !counter.hasRejected()) return;
    const { accepted, rejected, ignored } = counter.takeOutcomes();
    const isAnyIgnored = Object.keys(ignored).length > 0;
    if (rejected.length === 0) {
      if (isAnyIgnored) log.info({ accepted, ignored }, "records ignored");
      return;
    }
    const records = rejected.reduce((sum, one) => sum + one.records, 0);
    const senders = rejected
      .slice(0, LOGGED_SENDERS)
      .map(({ source, keyId, sensorId, outcome: reason, records: count }) => ({
        ...{ source, sensor: sensorId, key: keyId, reason, records: count },
      }));
    const others = rejected.length - senders.length;
    log.warn({ accepted, rejected: records, ...(isAnyIgnored && { ignored }), senders, others }, "records rejected");
  };
  const flushes = repeatEvery(store, {
    everyMs: flushMs,
    onError: (error) => log.warn({ err: error }, "storing the counts by sensor failed, retrying"),
  });
  const lines = setInterval(() => logOutcomes(false), flushMs).unref();
  return {
    async close() {
      clearInterval(lines);
      const last = async () => {
        logOutcomes(true);
        // The second flush has what was counted during the first.
        await flushes.run();
        await flushes.run();
        await flushes.stop();
      };
      await Promise.race([last(), sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
