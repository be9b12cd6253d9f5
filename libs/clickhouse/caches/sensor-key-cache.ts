import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import { readSenders, readSensorKeysVersion } from "../access/sensor-keys.ts";
import { hashKey } from "../access/workspaces.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { readStoreIdentity } from "../client/store-identity.ts";
import { openPollingCache, type PollingOptions, type RefreshedCache } from "./polling-cache.ts";

/** Which sender each sensor key belongs to and where it may publish, kept in memory: checking a key costs no query. */
export type SensorKeyCache = RefreshedCache & {
  /** The sender behind a key; undefined when the key is unknown or revoked. */
  senderOf(key: string): Sender | undefined;
  /** Whether senders need a key. Revoked keys count: revoking the last one must not open the intake. */
  hasKeys(): boolean;
};

/** Reads the sensors' keys and keeps them up to date: one made or revoked anywhere counts here within seconds. */
export async function openSensorKeyCache(
  client: ClickHouseClient,
  options: PollingOptions = {},
): Promise<SensorKeyCache> {
  const { current, ...cache } = await openPollingCache(
    () => readSensorKeysVersion(client),
    async () => {
      const { keys, needKey } = await readSenders(client);
      const valid = keys.filter(({ isRevoked }) => !isRevoked);
      const senders = new Map<string, Sender>(
        valid.map(({ sha256, dataset, workspaceId, keyId, sensorId }) => [
          sha256,
          { right: { dataset, workspaceId }, keyId, sensorId: sensorId || undefined },
        ]),
      );
      return { senders, needKey, isEmpty: keys.length === 0 };
    },
    {
      ...options,
      tables: ["sensor_keys"],
      lossy: { isEmpty: (content) => content.isEmpty, readIdentity: () => readStoreIdentity(client) },
    },
  );
  return {
    ...cache,
    senderOf: (key) => current().senders.get(hashKey(key)),
    hasKeys: () => current().needKey,
  };
}
