import { makeCredential, writeFeedTokens } from "@noisefloor/clickhouse/access/credentials.ts";
import { writeKnownHost } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { writeGuardNetwork } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { appendLook } from "@noisefloor/clickhouse/watches/log.ts";
import { feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { CALLBACK_ADDRESS } from "@noisefloor/query/callbacks/hosted/operations.ts";
import { CVE } from "@noisefloor/query/cves/operations.ts";
import { EXAMPLE_KNOWN_HOST } from "@noisefloor/query/feeds/guard-routes/known-hosts.ts";
import { EXAMPLE_GUARD } from "@noisefloor/query/feeds/guard-routes/route.ts";
import { FEED_NAME } from "@noisefloor/query/feeds/requests/wire-feed.ts";
import { deleteFeed } from "@noisefloor/query/feeds/routes/definitions.ts";
import { EXAMPLE_TOKEN } from "@noisefloor/query/feeds/routes/tokens.ts";
import { EXAMPLE_TAG } from "@noisefloor/query/tags/wire-tag.ts";
import { deleteWatch } from "@noisefloor/query/watches/routes/definitions.ts";
import { EXAMPLE_EVENT } from "@noisefloor/query/watches/routes/events.ts";
import { WATCH_ID } from "@noisefloor/query/watches/routes/wire-watch.ts";
import { z } from "zod";
import { CLOSED } from "../fuzz/fuzzed-watches.ts";
import { ingestOf } from "../worlds/consuming-world.ts";
import { makeApp } from "../worlds/http.ts";
import { makeWatch } from "../worlds/watching-process.ts";
import { createWorld, makeTag } from "../worlds/world.ts";
import type { Target } from "./typescript.ts";

const SENSOR_KEY = "key-of-the-settings";

type CalledWorld = Target & {
  /** Makes again what the examples of deletions delete. */
  makeExamples(): Promise<void>;
  close(): Promise<void>;
};

const WORKSPACE = "called";

/** Intake and query on one port over a real store, in which the description's examples find something. */
export async function openCalledWorld(now: () => number): Promise<CalledWorld> {
  const world = await createWorld(now);
  await world.addTags([makeTag(EXAMPLE_TAG.slug, "unknown", { id: EXAMPLE_TAG.id, cves: [CVE.example] })]);
  const observed_at = new Date(now() - 60_000).toISOString();
  const urls = [`http://${CALLBACK_ADDRESS.example}/bins.sh`];
  await world.store([{ observed_at, sensor_id: "s", source_ip: "192.175.48.6", tags: [EXAMPLE_TAG.slug], urls }]);
  const ingest = await ingestOf(world, undefined, now, [SENSOR_KEY]);
  const app = await makeApp([...QUERY_OPERATIONS, ...INGEST_OPERATIONS], (made, metrics) => {
    ingest.register(made);
    world.register(made, metrics);
  });
  const key = await world.addCaller("unlimited", ["community_dataset", "sensors"], WORKSPACE);
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const body = new FormData();
  body.append("file", new Blob(["192.175.48.6"]));
  const uploaded = await fetch(`${url}/v2/analyze/upload`, { method: "POST", headers: { key }, body });
  const { uuid: analysis } = z.object({ uuid: z.string() }).parse(await uploaded.json());
  return {
    url,
    key,
    analysis,
    sensorKey: SENSOR_KEY,
    async makeExamples() {
      for (const name of [FEED_NAME.example, deleteFeed.pathParameters.name.example]) {
        const payload = { query: `tags:${EXAMPLE_TAG.slug}` };
        await app.inject({ method: "PUT", url: `/v3/feeds/${name}`, headers: { key }, payload });
      }
      const feedId = feedIdOf(WORKSPACE, FEED_NAME.example);
      const about = { id: EXAMPLE_TOKEN.id, subject: feedId, workspaceId: WORKSPACE };
      await writeFeedTokens(world.client, [makeCredential("feed", about, now()).credential], now());
      const { id, network, note } = EXAMPLE_GUARD;
      const guard = { id, workspaceId: WORKSPACE, network, note, createdAt: now() };
      await writeGuardNetwork(world.client, guard, now());
      const known = { workspaceId: WORKSPACE, host: EXAMPLE_KNOWN_HOST.host, note: "", createdAt: now() };
      await writeKnownHost(world.client, known, now());
      const on = { type: "network_seen" as const, networks: ["198.51.100.0/24"] };
      const watch = makeWatch(WORKSPACE, on, { id: WATCH_ID.example, deliver: [CLOSED] });
      const deleted = makeWatch(WORKSPACE, on, { id: deleteWatch.pathParameters.id.example });
      await watchDefinitions.write(world.client, [watch, deleted], now());
      const event = { id: EXAMPLE_EVENT.id, workspaceId: WORKSPACE, watchId: watch.id };
      const logged = { ...event, body: JSON.stringify(EXAMPLE_EVENT), subjects: [], times: [] };
      await appendLook(world.client, { holder: "", position: "", events: [logged] }, undefined);
      await world.watches.cache.refresh();
      await world.refresh();
    },
    async close() {
      await app.close();
      await ingest.stop();
      await world.close();
    },
  };
}
