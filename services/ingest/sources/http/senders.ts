import { createHash, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import { clientNetwork } from "@noisefloor/domain/address/client-address.ts";
import { credentialOf } from "@noisefloor/http/requests/key.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";

export type SensorKeys = {
  /** Keys of the settings: each may publish to the shared datasets. */
  readonly sensorKeys: readonly string[];
  /** Keys of the store: each may publish to its one dataset or workspace. */
  readonly accessCache: Pick<AccessCache, "find" | "callerOf" | "needsSensorKey" | "lookAgain">;
};

const derive = promisify<string, string, number, Buffer>(scrypt);

const WORKSPACE_KEY =
  "Unauthorized: this is a workspace's key, which only asks questions. Make a sensor key: noisefloor sensors create";

const NO_SENSOR_KEY = 'Unauthorized: send a valid sensor key (nfs_...) in the header "key"';

/** The key of a sensor's request; empty without one. */
export const sensorKeyOf = (request: FastifyRequest): string =>
  credentialOf(request, ["key", "bearer", "basic", "splunk", "elasticsearch"]);

/** Whether observations are taken without a key. */
export function isIntakeOpen({ sensorKeys, accessCache }: SensorKeys): boolean {
  return sensorKeys.length === 0 && !accessCache.needsSensorKey();
}

/**
 * Finds a request's sender by its key, which is required as soon as there is any. An unknown key is rejected also while
 * none is required: its sensor relies on the dataset of its key, and would write to another one.
 * @returns a function that rejects with HttpError 401.
 */
export function readSenders(keys: SensorKeys): (request: FastifyRequest) => Promise<Sender> {
  const { accessCache } = keys;
  const shared = keys.sensorKeys.map((key) => ({ digest: sha256(key), sender: openSenderOfSettings(key) }));
  return async (request) => {
    const key = sensorKeyOf(request);
    if (key === "" && isIntakeOpen(keys)) return { right: "shared-datasets" };
    const sender = storedSender(key, accessCache);
    if (sender !== undefined) return sender;
    const digest = sha256(key);
    // Compared as digests of one length, each in constant time, so that an answer's delay says nothing about a key.
    const [ofSettings] = shared.filter((candidate) => timingSafeEqual(candidate.digest, digest));
    if (ofSettings !== undefined) return ofSettings.sender();
    if (key !== "") await accessCache.lookAgain();
    const added = storedSender(key, accessCache);
    if (added === undefined) throw new HttpError(401, accessCache.callerOf(key) ? WORKSPACE_KEY : NO_SENSOR_KEY);
    return added;
  };
}

function storedSender(key: string, { find }: SensorKeys["accessCache"]): Sender | undefined {
  const credential = find("sensor", key);
  if (credential === undefined) return undefined;
  const { id, dataset, workspaceId, subject } = credential;
  return { right: { dataset, workspaceId }, keyId: id, sensorId: subject || undefined };
}

/**
 * A key of the settings has no id, so it gets one made of itself, the same in every process. Dashboards may read it,
 * so it is slow to compute on purpose: a key that a person chose must not be guessed from it. A start with hundreds of
 * keys would wait for seconds, so the first request with the key computes it, on another thread.
 */
function openSenderOfSettings(key: string): () => Promise<Sender> {
  const compute = async (): Promise<Sender> => {
    const digest = await derive(key, "noisefloor sensor key", 8);
    return { right: "shared-datasets", keyId: `settings-${digest.toString("hex")}` };
  };
  let sender: Promise<Sender> | undefined;
  const forget = (error: unknown) => {
    sender = undefined;
    throw error;
  };
  return () => (sender ??= compute().catch(forget));
}

/**
 * The sender that a share of the memory budget belongs to: a request's key, which was checked before, or its address
 * while no key is required.
 */
export function budgetShareOf(request: FastifyRequest): string {
  const key = sensorKeyOf(request);
  if (key !== "") return `key ${key}`;
  return clientNetwork(request.ip, request.socket.remoteAddress);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
