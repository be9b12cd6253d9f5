import type { ClickHouseClient } from "@clickhouse/client";
import type { DataRoom } from "@noisefloor/domain/scope.ts";
import { readSenders, readSensorKeysVersion } from "./tables/sensor-keys.ts";
import { hashKey } from "./tables/workspaces.ts";
import { type WatchOptions, watch } from "./watch.ts";

/** Where the keys of sensors may publish to, in memory: checking a key costs no query. */
export type SensorDirectory = {
  /** The room of a key; undefined when the key is not known or was revoked. */
  roomOf(key: string): DataRoom | undefined;
  /** Whether senders need a key. Revoked ones count: ending the last one must not open what it guarded. */
  hasKeys(): boolean;
  refresh(): Promise<void>;
  /** Seconds since it was last known to be up to date. */
  ageSeconds(): number;
  stop(): void;
};

/** Reads the sensors' keys and keeps them up to date: one made or revoked anywhere counts here within seconds. */
export async function watchSensors(client: ClickHouseClient, options: WatchOptions = {}): Promise<SensorDirectory> {
  const { current, refresh, ageSeconds, stop } = await watch(
    () => readSensorKeysVersion(client),
    async () => {
      const { keys, needKey } = await readSenders(client);
      const valid = keys.filter(({ isRevoked }) => !isRevoked);
      const rooms = new Map<string, DataRoom>(
        valid.map(({ sha256, dataset, workspaceId }) => [sha256, { dataset, workspaceId }]),
      );
      return { rooms, hasKeys: needKey };
    },
    { ...options, isEmpty: ({ hasKeys }) => !hasKeys },
  );
  return {
    roomOf: (key) => current().rooms.get(hashKey(key)),
    hasKeys: () => current().hasKeys,
    refresh,
    ageSeconds,
    stop,
  };
}
