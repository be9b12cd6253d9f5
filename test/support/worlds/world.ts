import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { openWatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient, ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { type NetworkKind, type NetworkList, replaceNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import type { Entitlement } from "@noisefloor/domain/access/caller.ts";
import { DEFAULT_PLANS } from "@noisefloor/domain/access/plan.ts";
import type { Intention } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { explainRejection } from "@noisefloor/ingest/formats/explain-rejection.ts";
import { ingestBatch } from "@noisefloor/ingest/pipeline/pipeline.ts";
import type { RejectedRecord } from "@noisefloor/ingest/record.ts";
import { requestDeadLetter } from "@noisefloor/ingest/sources/http/dead-letters.ts";
import type { RequestRecord } from "@noisefloor/ingest/sources/http/records.ts";
import { observationSink } from "@noisefloor/ingest/store/observation-sink.ts";
import type { Sink } from "@noisefloor/ingest/store/sink.ts";
import type { NetworksCache } from "@noisefloor/query/address/benign-networks.ts";
import { QUERY_OPERATIONS, type QueryDeps, registerQuery } from "@noisefloor/query/app/app.ts";
import { callerWithLimits } from "@noisefloor/query/auth.ts";
import { type FeedsService, openFeeds } from "@noisefloor/query/feeds/service/feeds.ts";
import { localLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import { destinationPolicy } from "@noisefloor/query/watches/deliver/policy.ts";
import { openSender } from "@noisefloor/query/watches/deliver/sender.ts";
import { openWatches, type Watches } from "@noisefloor/query/watches/service.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { inject } from "vitest";
import { PUBLIC_URL } from "../oracle/address-oracle.ts";
import { expectDescribed } from "../oracle/description.ts";
import { openCaches, stopCaches } from "./caches.ts";
import { addCaller } from "./callers.ts";
import { takeDatabase } from "./databases.ts";
import { type AskedApp, makeApp, makeLazyApp, silent } from "./http.ts";

export const RETENTION_DAYS = 100;

/** A database of its own on the shared server, created by the production migrations. */
export type World = {
  readonly connection: ClickHouseConnection;
  readonly client: ClickHouseClient;
  readonly catalogue: TagCatalogue;
  readonly networks: NetworksCache;
  readonly accessCache: AccessCache;
  /** They are refreshed when they are asked for, and not by themselves. */
  readonly feeds: FeedsService;
  /** They are looked after when they are told to. */
  readonly watches: Watches;
  /** The query interface, for requests with `inject`. */
  readonly app: AskedApp;
  /** The same with all that an application has. */
  makeApp(): Promise<FastifyInstance>;
  /** Adds the query interface to another application over the same store. */
  register(app: FastifyInstance, metrics: Metrics, more?: Partial<QueryDeps>): void;
  /** Sends observations through the ordinary pipeline as one batch, with the right to write everywhere. */
  store(
    observations: readonly Record<string, unknown>[],
  ): Promise<{ accepted: number; rejected: readonly RejectedRecord<RequestRecord>[] }>;
  addTags(tags: readonly Tag[]): Promise<void>;
  /** Imports lists of benign services or actors, as of now or of `at`; they show in answers when it resolves. */
  replaceNetworks(
    kind: NetworkKind,
    lists: readonly NetworkList[],
    at?: number,
  ): ReturnType<typeof replaceNetworkLists>;
  /** Makes the caches read what has changed. */
  refresh(): Promise<void>;
  /** Creates a workspace, with a random id unless given. @returns its key. */
  addCaller(plan: string, entitlements?: readonly Entitlement[], workspaceId?: string): Promise<string>;
  /** Sends a GET and parses the JSON. Without headers, the caller has every permission. */
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; body: unknown }>;
  /** Sends a POST with a body, as JSON unless it is a text. */
  post(path: string, payload: unknown, headers?: Record<string, string>): Promise<{ status: number; body: unknown }>;
  /**
   * Stops something when the world closes, before its database goes to the next test: an intake writes its last counts
   * when it stops. Vitest's `onTestFinished` would come after the `afterEach` that closes the world.
   */
  beforeClose(stop: () => Promise<void>): void;
  close(): Promise<void>;
};

export type WorldOptions = {
  readonly retentionDays?: number;
  /** Instead of the server that all tests share. */
  readonly server?: ClickHouseConnection;
  /** OWN_ADDRESSES. */
  readonly ownAddresses?: readonly string[];
  /** FEEDS_LIST_SPOOFABLE. */
  readonly listsSpoofable?: boolean;
  /** How often the caches look for changes. By default they change with `refresh` alone, which costs no queries. */
  readonly pollIntervalMs?: number;
};

/** @param now the clock of the services, in milliseconds since 1970 UTC. */
export async function createWorld(now: () => number, options: WorldOptions = {}): Promise<World> {
  const { retentionDays = RETENTION_DAYS, server = inject("clickhouse"), pollIntervalMs } = options;
  const { ownAddresses = [], listsSpoofable = false } = options;
  const database = await takeDatabase(server);
  const { connection, client, key } = database;
  const polling = pollIntervalMs === undefined ? undefined : await openCaches(client, pollIntervalMs);
  const { catalogue, networks, accessCache } = polling ?? database.caches;
  const publicUrl = PUBLIC_URL;
  const plansUrl = `${publicUrl}/plans`;
  const file = join(tmpdir(), `noisefloor-lookups-${randomUUID()}`);
  const limit = await localLookupLimit(file, now, silent);
  const read = reader(client, { maxSeconds: 60 });
  const feeds = {
    client,
    cache: accessCache,
    feeds: openFeeds({
      client,
      cache: accessCache,
      read,
      catalogue,
      networks,
      accessCache,
      plans: DEFAULT_PLANS,
      ownAddresses,
      listsSpoofable,
      retentionDays: () => retentionDays,
      now,
      maxSeconds: 60,
    }),
  };
  const watchCache = await openWatchCache(client, { intervalMs: 2 ** 30 });
  const policy = destinationPolicy(["127.0.0.0/8", "::1"]);
  const withLimits = callerWithLimits(DEFAULT_PLANS);
  const watches = openWatches({
    client,
    cache: watchCache,
    callerOf(workspaceId) {
      const caller = accessCache.callerOfWorkspace(workspaceId);
      return caller && withLimits(caller);
    },
    deps: { read, catalogue, networks, retentionDays: () => retentionDays, now, memory: undefined },
    changes: undefined,
    publicUrl,
    sender: openSender({ policy, mail: undefined, hostName: "noisefloor.example.org", now }),
    rules: { policy, sendsMail: false },
    onEvent: () => {},
    onAttempt: () => {},
    onError: (_, error) => silent.error(error),
    onRecovery: () => {},
    onFailure: (_, error) => silent.error(error),
    everyMs: 2 ** 30,
  });
  const register = (made: FastifyInstance, metrics: Metrics, more: Partial<QueryDeps> = {}) =>
    registerQuery(made, {
      read,
      readSingle: reader(client, { maxSeconds: 60 }),
      catalogue,
      networks,
      accessCache,
      feeds,
      watches,
      plans: DEFAULT_PLANS,
      limit,
      metrics,
      plansUrl,
      retentionDays: () => retentionDays,
      now,
      publicUrl,
      ...more,
    });
  const app = makeLazyApp(() => makeApp(QUERY_OPERATIONS, register));
  const deadLetters = deadLetterStore(client, { now });
  let stored = 0;
  const stops: (() => Promise<void>)[] = [];
  return {
    connection,
    client,
    catalogue,
    networks,
    accessCache,
    feeds,
    watches,
    app,
    makeApp: app.made,
    register,
    async store(observations) {
      const records = observations.map(
        (observation, index): RequestRecord => ({
          bytes: Buffer.from(JSON.stringify(observation)),
          sender: { right: "everything" },
          fallbackId: `test:${stored}/${index}`,
          origin: `test-${stored}`,
          position: index + 1,
          part: index,
        }),
      );
      stored++;
      const { accepted, rejected } = await ingestBatch(records, {
        catalogue,
        retentionDays: () => retentionDays,
        right: "everything",
        explain: explainRejection,
        now,
        sink: storingIn(client),
        storeDeadLetters: (bad) => deadLetters(bad.map(requestDeadLetter)),
      }).stored;
      return { accepted: accepted.length, rejected };
    },
    async addTags(tags) {
      await tagRecords.write(client, tags, Date.now());
      await catalogue.refresh();
    },
    async replaceNetworks(kind, lists, at = now()) {
      const report = await replaceNetworkLists(client, kind, lists, at);
      await networks.refresh();
      return report;
    },
    async refresh() {
      await Promise.all([catalogue.refresh(), networks.refresh(), accessCache.refresh()]);
    },
    async addCaller(plan, entitlements, workspaceId = `workspace-${randomUUID()}`) {
      const added = await addCaller(client, workspaceId, plan, entitlements);
      await accessCache.refresh();
      return added;
    },
    async post(path, payload, headers = { key }) {
      const response = await app.inject({
        method: "POST",
        url: path,
        payload: typeof payload === "string" ? payload : JSON.stringify(payload),
        headers: { "content-type": "application/json", ...headers },
      });
      expectDescribed("POST", path, response.statusCode, response.json());
      return { status: response.statusCode, body: response.json() };
    },
    async get(path, headers = { key }) {
      const response = await app.inject({ method: "GET", url: path, headers });
      expectDescribed("GET", path, response.statusCode, response.json());
      return { status: response.statusCode, body: response.json() };
    },
    beforeClose: (stop) => void stops.push(stop),
    async close() {
      for (const stop of stops) await stop();
      await watches.stop();
      watchCache.stop();
      await feeds.feeds.stop();
      if (polling !== undefined) stopCaches(polling);
      await limit.close();
      await rm(file, { force: true });
      await app.close();
      await database.giveBack();
    },
  };
}

/** A sink that inserts immediately and retries nothing. */
export function storingIn(client: ClickHouseClient): Sink {
  return observationSink(client, { retryForMs: 0 });
}

/** A tag with a slug and an intention; all other members have defaults. */
export function makeTag(slug: string, intention: Intention, more: Partial<Tag> = {}): Tag {
  return {
    id: randomUUID(),
    label: slug.toUpperCase(),
    slug,
    name: slug,
    category: "activity",
    intention,
    description: "",
    references: [],
    recommend_block: false,
    cves: [],
    created_at: "2026-01-01",
    related: [],
    ...more,
  };
}
