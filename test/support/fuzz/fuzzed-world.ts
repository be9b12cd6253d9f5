import { credentials, makeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import type { NetworkList } from "@noisefloor/clickhouse/networks/networks.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import type { OpenApiDocument } from "@noisefloor/http/operations/openapi.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import fc from "fast-check";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { checkAgainst } from "../oracle/description.ts";
import { ingestOf } from "../worlds/consuming-world.ts";
import { makeApp } from "../worlds/http.ts";
import { createWorld, makeTag, type World } from "../worlds/world.ts";
import { formOf } from "./bodies.ts";
import { answerChecks, type CheckAnswer, OPERATION_HEADER } from "./check-answer.ts";
import { describedValues } from "./described-values.ts";
import { type DescribedOperation, descriptionSchema, type FuzzRequest, operationsOf } from "./drafts.ts";
import { FEED_MEMBERS, FEED_TEXTS, makeFeeds } from "./fuzzed-feeds.ts";
import { makeWatches, WATCH_MEMBERS, WATCH_TEXTS } from "./fuzzed-watches.ts";
import { requestsFor } from "./requests.ts";
import { wildAddress, wildText } from "./wild-text.ts";

/** Intake and query on one port over a real store, and generators of requests to them. */
export type FuzzedWorld = {
  readonly world: World;
  readonly app: FastifyInstance;
  /** As the application itself describes them. */
  readonly operations: readonly DescribedOperation[];
  readonly check: CheckAnswer;
  readonly requestsFor: (operation: DescribedOperation) => fc.Arbitrary<FuzzRequest>;
  /** A key that may publish to the shared datasets. */
  readonly sensorKey: string;
  close(): Promise<void>;
};

/** Callers without a key have no lookups left at this address. */
const SPENT_ADDRESS = "45.9.9.9";
const TAGS = [makeTag("worm", "malicious", { cves: ["CVE-2024-3094"] }), makeTag("scanner", "suspicious")];
const SLUGS = TAGS.map(({ slug }) => slug);
export const NOISE = "45.1.1.1";
export const RIOT = "8.8.8.8";
const CALLBACK = "45.9.148.7";
const TEAM = "team-a";

export async function createFuzzedWorld(now: () => number): Promise<FuzzedWorld> {
  const world = await createWorld(now);
  await world.addTags(TAGS);
  await world.replaceNetworks("service", [RIOT_LIST]);
  const observed_at = new Date(now() - 60_000).toISOString();
  await world.store([{ observed_at, sensor_id: "s", source_ip: NOISE, tags: SLUGS, urls: [`http://${CALLBACK}/x`] }]);

  const sensorKey = "key-of-the-settings";
  const ingest = await ingestOf(world, undefined, now, [sensorKey]);
  const app = await makeApp(
    [...QUERY_OPERATIONS, ...INGEST_OPERATIONS],
    (made, metrics) => {
      made.addHook("onSend", async (request, reply) => {
        reply.header(OPERATION_HEADER, request.routeOptions.config?.operation ?? "none");
      });
      ingest.register(made);
      world.register(made, metrics);
    },
    { site: { host: "0.0.0.0", allowedHosts: [], isIntakeOpen: () => true } },
  );
  const ask = { method: "GET", url: `/v3/community/${NOISE}`, remoteAddress: SPENT_ADDRESS } as const;
  await Promise.all(Array.from({ length: 100 }, () => app.inject(ask)));

  const upload = { method: "POST", url: "/v2/analyze/upload" } as const;
  const text = formOf(NOISE);
  const analysis = await app.inject({ ...upload, headers: text.headers, payload: text.bytes });
  const uuid = fc.constantFrom(z.object({ uuid: z.string() }).parse(analysis.json()).uuid);
  const document = (await app.inject({ method: "GET", url: "/openapi.json" })).json<OpenApiDocument>();
  const description = descriptionSchema.parse(document);
  const operations = operationsOf(description);
  const surroundings = {
    known: { ...KNOWN_TEXTS, uuid },
    keys: await makeKeys(world, sensorKey, now()),
    callers: CALLERS,
  };
  const described = describedValues(description.components.schemas, likelyMembers(now()));
  return {
    world,
    app,
    operations,
    check: answerChecks(operations, checkAgainst(document)),
    requestsFor(operation) {
      const ofPath = operations.filter(({ path }) => path === operation.path);
      return requestsFor(
        operation,
        ofPath.map(({ method }) => method),
        described,
        surroundings,
      );
    },
    sensorKey,
    async close() {
      await app.close();
      await ingest.stop();
      await world.close();
    },
  };
}

const RIOT_LIST: NetworkList = {
  listId: "dns",
  name: "A resolver",
  category: "public_dns",
  description: "",
  explanation: "",
  reference: "",
  trustLevel: "1",
  priority: 0,
  networks: [{ first: ipv4ToNumber(RIOT), length: 32 }],
};

const CALLERS = [SPENT_ADDRESS, "127.0.0.1", "::1", "2001:db8::1"];

const routableAddress = fc.tuple(fc.integer({ min: 11, max: 40 }), fc.nat(40)).map(([a, b]) => `45.${a}.7.${b}`);

// The description leaves the content of a sensor's record open: most requests send observations.
const format = fc.constantFrom(...Array<string>(8).fill("observations"), "auto", "netfilter");

const KNOWN_TEXTS = {
  ip: fc.oneof(fc.constantFrom(NOISE, RIOT), routableAddress),
  "getCallbackIp.ip": fc.constantFrom(CALLBACK, NOISE),
  id: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...TAGS.map(({ id }) => id)) },
    { weight: 1, arbitrary: fc.uuid() },
  ),
  workspace_labels: fc.constantFrom("global", "community", " global, community,global", "greynoise", ""),
  name: fc.constantFrom("scan", "WORM", ""),
  slug: fc.constantFrom("worm", "nothing"),
  "postObservations.format": format,
  "postObservationLines.format": format,
  cve: fc.constantFrom("CVE-2024-3094", "cve-2024-3094", "CVE-1999-0001"),
  query: fc.constantFrom("tags:worm", "NOT port:22", "last_seen:90d (country:DE OR path:/*)", "classification:benign"),
  exclude: fc.constantFrom("tags", "metadata.asn,raw_data", ""),
  start: fc.constantFrom("", "2020-01-01", "2020-01-01T00:30:00+01:00"),
  end: fc.constantFrom("", "2099-01-01", "2099-01-01T00:00:00Z"),
  ...FEED_TEXTS,
  ...WATCH_TEXTS,
  // Tokens come from the page before.
  scroll: fc.constant(""),
  next: fc.constant(""),
  "getAddressObservations.cursor": fc.constant(""),
};

/** Likely values for members of bodies: with arbitrary ones hardly an observation would be accepted. */
function likelyMembers(now: number): Record<string, fc.Arbitrary<unknown>> {
  const address = fc.oneof(routableAddress, wildAddress, wildText, fc.constantFrom(NOISE, RIOT));
  return {
    ...FEED_MEMBERS,
    ...WATCH_MEMBERS,
    ips: fc.array(address, { minLength: 1, maxLength: 12 }),
    cves: fc.array(fc.oneof(fc.constant("CVE-2024-3094"), wildText), { minLength: 1, maxLength: 5 }),
    source_ip: fc.oneof({ weight: 6, arbitrary: routableAddress }, { weight: 1, arbitrary: wildAddress }),
    // Within the retention and some days beyond; a few from tomorrow.
    observed_at: fc.integer({ min: -1, max: 110 }).map((days) => new Date(now - days * 86_400_000).toISOString()),
    tags: fc.oneof({ weight: 9, arbitrary: fc.subarray(SLUGS) }, { weight: 1, arbitrary: fc.constant(["unheard-of"]) }),
    asn: fc.oneof(fc.integer({ min: 0, max: 4_294_967_295 }), fc.constantFrom("14061", "AS14061")),
    dataset: fc.constantFrom("global", "community"),
    workspace_id: fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constant(TEAM) },
    ),
  };
}

async function callerWithFeeds(world: World, now: number): Promise<string> {
  const key = await world.addCaller("unlimited", ["community_dataset", "sensors"], "feeding");
  await makeFeeds(world, "feeding", now);
  await makeWatches(world, "feeding", now);
  await world.refresh();
  return key;
}

/** Keys of several plans, with and without the entitlement; of sensors bound to a scope, and of others. */
async function makeKeys(world: World, sensorKey: string, now: number) {
  const scopes: Scope[] = [
    { dataset: "personal", workspaceId: TEAM },
    { dataset: "community", workspaceId: "" },
  ];
  const bound = scopes.map((scope) => makeCredential("sensor", scope, now));
  const stored = bound.map(({ credential }) => credential);
  await credentials.write(world.client, stored, now);
  await world.accessCache.refresh();
  return {
    intake: [sensorKey, sensorKey, ...bound.map(({ secret }) => secret), undefined],
    query: [
      undefined,
      "",
      await world.addCaller("community"),
      await world.addCaller("standard", ["community_dataset"]),
      // Feeds and watches have many operations that need this one.
      ...Array<string>(3).fill(await callerWithFeeds(world, now)),
      await world.addCaller("a plan that is no longer there"),
    ],
  };
}
