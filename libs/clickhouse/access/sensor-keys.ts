import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne, toDateTime64 } from "../client/query.ts";
import { replaceRows } from "../mutations/replace-rows.ts";

const sensorKeySchema = z.object({
  keyId: z.string(),
  label: z.string(),
  dataset: z.enum(DATASETS),
  /** Empty unless the dataset is personal. */
  workspaceId: z.string(),
  /** The one sensor that it was made for; empty or left out when it may send for any. */
  sensorId: z.string().optional(),
  sha256: z.string(),
  /** Milliseconds since 1970 UTC. */
  createdAt: z.int(),
  isRevoked: z.boolean(),
});
export type SensorKey = z.infer<typeof sensorKeySchema>;

/**
 * The row that says, unless it is revoked, that senders without a key are accepted although keys exist. It is stored
 * among the keys so that services read it with them, and so that a restore does not open an intake that was closed
 * since.
 */
export const OPEN_INTAKE_ID = "open-intake";

/** Every key that was ever made, and the row of {@link OPEN_INTAKE_ID}. */
export const allSensorKeys = defineQuery({
  name: "all-sensor-keys",
  sql: `SELECT key_id AS keyId, label, dataset, workspace_id AS workspaceId, sensor_id AS sensorId,
      key_sha256 AS sha256,
      toUnixTimestamp64Milli(created_at) AS createdAt, is_revoked AS isRevoked
    FROM sensor_keys FINAL ORDER BY created_at, key_id`,
  params: z.object({}),
  row: sensorKeySchema,
});

/** Made of the whole content, which is small: neither a merge nor another machine's clock can hide a revocation. */
const sensorKeysVersion = defineQuery({
  name: "sensor-keys-version",
  sql: "SELECT concat(toString(count()), '/', toString(sum(cityHash64(*)))) AS version FROM sensor_keys FINAL",
  params: z.object({}),
  row: z.object({ version: z.string() }),
});

/** Every key that was ever made, revoked ones too. */
export async function readSensorKeys(client: ClickHouseClient): Promise<SensorKey[]> {
  return (await readSenders(client)).keys;
}

/** Who may send: every key that was ever made, revoked ones too, and whether a sender needs one. */
export type Senders = {
  readonly keys: SensorKey[];
  /** True once a key was made, also when it was revoked: revoking the last key must not open the intake. */
  readonly needKey: boolean;
};

export async function readSenders(client: ClickHouseClient): Promise<Senders> {
  const rows = await run(client, allSensorKeys, {});
  const keys = rows.filter(({ keyId }) => keyId !== OPEN_INTAKE_ID);
  const isOpened = rows.some(({ keyId, isRevoked }) => keyId === OPEN_INTAKE_ID && !isRevoked);
  return { keys, needKey: keys.length > 0 && !isOpened };
}

/** Opens the intake for senders without a key, or closes it again for them. */
export async function writeIntakeOpen(client: ClickHouseClient, isOpen: boolean, now: number): Promise<void> {
  const row = {
    keyId: OPEN_INTAKE_ID,
    label: "",
    dataset: "global",
    workspaceId: "",
    sha256: "",
    createdAt: now,
  } as const;
  await writeSensorKey(client, { ...row, isRevoked: !isOpen }, now);
}

/** Changes whenever a sensor key does. */
export async function readSensorKeysVersion(client: ClickHouseClient): Promise<string> {
  return (await runForOne(client, sensorKeysVersion, {})).version;
}

/** Adds a key or replaces the one with its id. */
export async function writeSensorKey(client: ClickHouseClient, key: SensorKey, now: number): Promise<void> {
  const row = {
    key_id: key.keyId,
    label: key.label,
    dataset: key.dataset,
    workspace_id: key.workspaceId,
    sensor_id: key.sensorId,
    key_sha256: key.sha256,
    created_at: toDateTime64(key.createdAt),
    is_revoked: key.isRevoked,
  };
  await replaceRows(client, { table: "sensor_keys", idColumn: "key_id", rows: [row] }, now);
}
