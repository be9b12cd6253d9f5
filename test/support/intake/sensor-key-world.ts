import {
  type Credential,
  hashSecret,
  makeCredential,
  readCredentials,
  revokeCredential,
  writeCredential,
} from "@noisefloor/clickhouse/access/credentials.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { z } from "zod";
import { addressOf, observation } from "../builders/observation.ts";
import { ingestOf } from "../worlds/consuming-world.ts";
import { type AskedApp, makeApp, makeLazyApp } from "../worlds/http.ts";
import { createWorld, type World } from "../worlds/world.ts";

/** A key in `SENSOR_KEYS` of the guarded intake. */
export const SHARED_KEY = "key-of-the-settings";

export const GLOBAL: Scope = { dataset: "global", workspaceId: "" };
export const COMMUNITY: Scope = { dataset: "community", workspaceId: "" };
export const TEAM_A: Scope = { dataset: "personal", workspaceId: "team-a" };
export const TEAM_B: Scope = { dataset: "personal", workspaceId: "team-b" };

/** Two intakes over one store, whose caches poll often. */
export type SensorKeyWorld = {
  readonly world: World;
  /** Without `SENSOR_KEYS`. */
  readonly open: AskedApp;
  /** With `SENSOR_KEYS`. */
  readonly guarded: AskedApp;
  /** Stores a key; the intakes see it with their next poll. @param sensorId the one sensor that may use the key. */
  makeKey(scope: Scope, sensorId?: string): Promise<string>;
  /** Stores a key that the intakes see immediately. */
  addKey(scope: Scope, sensorId?: string): Promise<string>;
  findKey(key: string): Promise<Credential>;
  revoke(key: string): Promise<void>;
  /** An observation whose address no other one has. */
  observation(members?: object): ReturnType<typeof observation>;
  /** @param to the open intake unless given. */
  post(observations: readonly object[], key?: string, to?: AskedApp): Promise<PostResponse>;
  /** The addresses of all stored observations, each with its scope as "dataset/workspace". */
  readScopes(): Promise<{ ip: string; scope: string }[]>;
  close(): Promise<void>;
};
type PostResponse = { status: number; body: { accepted: number } };

const storedScopes = defineQuery({
  name: "test-stored-scopes",
  sql: `SELECT toString(source_ip) AS ip, concat(dataset, '/', workspace_id) AS scope FROM ${OBSERVATIONS} FINAL`,
  params: z.object({}),
  row: z.object({ ip: z.string(), scope: z.string() }),
});

export async function openSensorKeyWorld(now: () => number): Promise<SensorKeyWorld> {
  const world = await createWorld(now, { pollIntervalMs: 1_000 });
  const intake = (sensorKeys: readonly string[]) =>
    makeLazyApp(async () => makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, now, sensorKeys)).register));
  const [open, guarded] = [intake([]), intake([SHARED_KEY])];
  let sent = 0;

  async function makeKey(scope: Scope, sensorId = ""): Promise<string> {
    const now = Date.now();
    const { secret, credential } = makeCredential("sensor", { ...scope, subject: sensorId }, now);
    await writeCredential(world.client, credential, now);
    return secret;
  }
  async function findKey(key: string): Promise<Credential> {
    const stored = (await readCredentials(world.client, "sensor")).find(({ sha256 }) => sha256 === hashSecret(key));
    if (stored === undefined) throw new Error("the key is not stored");
    return stored;
  }
  return {
    world,
    open,
    guarded,
    makeKey,
    findKey,
    async addKey(scope, sensorId) {
      const key = await makeKey(scope, sensorId);
      await world.accessCache.refresh();
      return key;
    },
    async revoke(key) {
      await revokeCredential(world.client, await findKey(key), Date.now() + 1);
    },
    observation(members = {}) {
      sent++;
      return observation(addressOf(sent, 2), now() - 1_000, members);
    },
    async post(observations, key, to = open) {
      const response = await to.inject({
        method: "POST",
        url: "/v1/observations",
        payload: observations.map((one) => JSON.stringify(one)).join("\n"),
        ...(key === undefined ? {} : { headers: { key } }),
      });
      return { status: response.statusCode, body: response.json() };
    },
    readScopes: () => run(world.client, storedScopes, {}),
    async close() {
      await open.close();
      await guarded.close();
      await world.close();
    },
  };
}
