import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { run } from "../client/query.ts";
import { defineRecords, defineVersion } from "../records/define-records.ts";

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

const sensorKeys = defineRecords({
  name: "all-sensor-keys",
  table: "sensor_keys",
  row: sensorKeySchema,
  id: "keyId",
  columns: { sha256: "key_sha256" },
  orderBy: "created_at, key_id",
});

/** Every key that was ever made, and the row of {@link OPEN_INTAKE_ID}. */
export const allSensorKeys = sensorKeys.all;

/** Changes whenever a sensor key does. */
export const readSensorKeysVersion = defineVersion("sensor-keys-version", "sensor_keys");

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

/** Adds a key or replaces the one with its id. */
export const writeSensorKey = (client: ClickHouseClient, key: SensorKey, now: number): Promise<void> =>
  sensorKeys.write(client, [key], now);
