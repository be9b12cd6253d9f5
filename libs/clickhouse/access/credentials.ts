import { hash, randomBytes } from "node:crypto";
import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineRecords } from "../records/define-records.ts";

/** What a secret opens: the API as a workspace, the intake as a sensor, or one feed. */
const SECRETS = {
  workspace: { prefix: "nf", bytes: 24 },
  sensor: { prefix: "nfs", bytes: 24 },
  feed: { prefix: "nff", bytes: 32 },
} as const;
export type SecretKind = keyof typeof SECRETS;

/**
 * The kind of the one record without a secret: unless it is revoked, senders without a key are accepted although sensors
 * have keys. It is stored among the credentials so that a restore does not open an intake that was closed since.
 */
const OPEN_INTAKE = "open-intake" as const;

const credentialSchema = z.object({
  kind: z.enum(["workspace", "sensor", "feed", OPEN_INTAKE]),
  id: z.string(),
  /** The workspace that it belongs to; empty for a sensor that publishes to a shared dataset. */
  workspaceId: z.string(),
  /** The dataset that a sensor publishes to. */
  dataset: z.enum(DATASETS),
  /** The one sensor that may use a sensor's key, empty for any; the id of a token's feed; empty for workspaces. */
  subject: z.string(),
  label: z.string(),
  /** The SHA-256 of the secret in hex: the store holds secrets by it alone. */
  sha256: z.string(),
  /** Milliseconds since 1970 UTC, as the next. */
  createdAt: z.int(),
  updatedAt: z.int(),
  isRevoked: z.boolean(),
});
/** A key of a workspace, a key of a sensor or a token of a feed, without its secret. */
export type Credential = z.infer<typeof credentialSchema>;

export const credentials = defineRecords({
  table: "credentials",
  row: credentialSchema,
  id: "id",
  orderBy: "created_at, id",
  // A revoked credential stays revoked in a restore of any backup of its time. Keys of sensors are never forgotten:
  // once there was one, the intake must stay closed.
  forget: { afterDays: 400, isDeleted: "is_revoked", unless: "kind IN ('sensor', 'open-intake')" },
});

/** Every credential of a kind that was not forgotten, revoked ones too, the oldest first. */
export async function readCredentials(client: ClickHouseClient, kind: SecretKind): Promise<Credential[]> {
  return (await credentials.read(client)).filter((credential) => credential.kind === kind);
}

export const hashSecret = (secret: string): string => hash("sha256", secret);

/** Makes a credential without storing it, and its secret, which nothing but the caller has. */
export function makeCredential<Kind extends SecretKind>(
  kind: Kind,
  about: Pick<Credential, "workspaceId"> & Partial<Pick<Credential, "id" | "dataset" | "subject" | "label">>,
  now: number,
): { readonly secret: string; readonly credential: Credential & { readonly kind: Kind } } {
  const { prefix, bytes } = SECRETS[kind];
  const secret = `${prefix}_${randomBytes(bytes).toString("base64url")}`;
  const id = randomBytes(6).toString("hex");
  const defaults = { id, dataset: "global", subject: "", label: "" } as const;
  const times = { createdAt: now, updatedAt: now };
  return {
    secret,
    credential: { kind, ...defaults, ...about, sha256: hashSecret(secret), ...times, isRevoked: false },
  };
}

/** Adds a credential or replaces the one with its id. */
export const writeCredential = (client: ClickHouseClient, credential: Credential, now: number): Promise<void> =>
  credentials.write(client, [credential], now);

/**
 * Adds tokens of feeds or replaces those with the same ids. Their kind is the column's default: the user of the query
 * service has no right to write another one.
 */
export const writeFeedTokens = (client: ClickHouseClient, tokens: readonly Credential[], now: number): Promise<void> =>
  credentials.write(
    client,
    tokens.map(({ kind: _feed, dataset: _none, ...token }) => token),
    now,
  );

/** Revokes a credential: services reject it within five seconds. */
export const revokeCredential = (client: ClickHouseClient, credential: Credential, now: number): Promise<void> =>
  writeCredential(client, { ...credential, isRevoked: true }, now);

/** Whether senders need a key: once one was made, also when it was revoked, as revoking the last must open nothing. */
export function needsSensorKey(all: readonly Credential[]): boolean {
  const isOpened = all.some(({ kind, isRevoked }) => kind === OPEN_INTAKE && !isRevoked);
  return !isOpened && all.some(({ kind }) => kind === "sensor");
}

/** Opens the intake for senders without a key, or closes it again for them. */
export async function writeIntakeOpen(client: ClickHouseClient, isOpen: boolean, now: number): Promise<void> {
  const row = { kind: OPEN_INTAKE, id: OPEN_INTAKE, createdAt: now, isRevoked: !isOpen } as const;
  await credentials.write(client, [row], now);
}
