import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { readEvents } from "@noisefloor/clickhouse/watches/log.ts";
import { ipv4ToNumber, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { HOUR_MS, MINUTE_MS } from "@noisefloor/domain/time/window.ts";
import { MAX_LATE_HOURS } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import type { KnownEvent } from "../support/builders/known-events.ts";
import type { Random } from "../support/builders/random.ts";
import { eventually } from "../support/eventually.ts";
import type { IngestProcess } from "../support/worlds/ingest-process.ts";
import type { Stage } from "../support/worlds/soak-stage.ts";
import { makeWatch } from "../support/worlds/watching-process.ts";
import type { Scenario } from "./scenario.ts";

/** The workspace of the stage's key. */
const WORKSPACE = "soak";

/**
 * Two query processes look after watches of networks and of a search while they and the intake are killed again and
 * again, and the receiver of events fails half of the time.
 */
export const watches: Scenario = {
  name: "watches",
  promise: "watches tell of everything once, and of nothing else, whatever is killed, and every event is delivered",
  events: { soak: 300_000, test: 6_000 },
  async play(stage, extent, say) {
    const { events, random } = stage;
    const kills = extent === "soak" ? 30 : 3;
    const receiver = await startReceiver(random);
    const deliver = [
      {
        type: "webhook" as const,
        id: "soar",
        isOff: false,
        addedAt: 0,
        url: receiver.url,
        format: "standard" as const,
        secret: `whsec_${Buffer.alloc(24).toString("base64")}`,
      },
    ];
    // Each kill has addresses of its own.
    const ordered = events.toSorted((one, other) => ipv4ToNumber(one.ip) - ipv4ToNumber(other.ip));
    const networks = [...new Set(ordered.map(({ ip }) => `${ip.slice(0, ip.lastIndexOf("."))}.0/24`))];
    const [tag] = stage.tags;
    if (tag === undefined) throw new Error("the stage has no tags");
    const ofNetworks = networks.map((network) => ({
      network,
      watch: makeWatch(WORKSPACE, { type: "network_seen", networks: [network] }, { deliver }),
    }));
    const ofSearch = makeWatch(WORKSPACE, { type: "search_matches", query: `tags:${tag.slug}` }, { deliver });
    await watchDefinitions.write(stage.client, [...ofNetworks.map(({ watch }) => watch), ofSearch], Date.now());
    const began = Date.now();
    const query = () => stage.query({ WATCH_DESTINATIONS: "127.0.0.1" });
    try {
      const looking = [await query(), await query()];
      // The search is known as it is before the first observation.
      await eventually(async () => {
        if ((await readKnownCount(stage)) === 0) throw new Error("the watches are not looked after");
      }, MINUTE_MS);
      let ingest = await stage.ingest({ KAFKA_INSTANCE_ID: "soak" });
      const share = Math.ceil(events.length / kills);
      for (let turn = 0; turn < kills; turn++) {
        const flow = stage.publish(ordered.slice(turn * share, (turn + 1) * share));
        await sleep(random.int(500, 4_000));
        const victim = random.int(0, 2);
        if (victim === 2) {
          await ingest.kill();
          ingest = await stage.ingest({ KAFKA_INSTANCE_ID: "soak" });
        } else {
          await looking[victim]?.kill();
          looking[victim] = await query();
        }
        await flow.done;
        // A start gives up on a store that does not answer for long; a supervisor would start it again.
        if (random.chance(0.7)) await Promise.all(looking.map(listening));
        if (extent === "test" || turn % 5 === 4) say(`${turn + 1} of ${kills} kills`);
      }
      await stage.drained();
      await stage.verify(0);
      say("all is stored");
      const found = () => readEvents(stage.client, { workspaceId: WORKSPACE, limit: 1_000_000 });
      const times = { began, ended: Date.now() };
      const expected = [
        ...ofNetworks.map(({ watch, network }) => ({ watch, ...expectedOfNetwork(events, network, times) })),
        { watch: ofSearch, ...expectedOfSearch(events, tag.id, times) },
      ];
      await eventually(async () => {
        for (const { watch, must } of expected) {
          const told = await toldBy(stage, watch.id);
          const missing = [...must].filter((ip) => !told.includes(ip));
          if (missing.length > 0)
            throw new Error(`${watch.name} did not tell of ${missing.length} addresses: ${missing.slice(0, 5)}`);
        }
      }, MINUTE_MS * 2);
      for (const { watch, may } of expected) {
        const told = await toldBy(stage, watch.id);
        const twice = told.filter((ip, index) => told.indexOf(ip) !== index);
        if (twice.length > 0) throw new Error(`${watch.name} told twice of ${twice.slice(0, 5)}`);
        const wrong = told.filter((ip) => !may.has(ip));
        if (wrong.length > 0) throw new Error(`${watch.name} told of ${wrong.slice(0, 5)}, which did not happen`);
      }
      say("everything was told once; delivering the rest");
      // A start tries again what is not delivered.
      const all = (await found()).map(({ id }) => id);
      for (let start = 0; start < 40 && all.some((id) => !receiver.taken.has(id)); start++) {
        const [oldest] = looking.splice(0, 1);
        await oldest?.terminate();
        looking.push(await query());
        await sleep(6_000);
      }
      const undelivered = all.filter((id) => !receiver.taken.has(id));
      if (undelivered.length > 0) throw new Error(`${undelivered.length} of ${all.length} events were not delivered`);
      const unknown = [...receiver.taken].filter((id) => !all.includes(id));
      if (unknown.length > 0) throw new Error(`${unknown.length} events were delivered that the log does not have`);
      for (const each of [...looking, ingest]) await each.terminate();
      return `${kills} SIGKILL, ${all.length} events in ${receiver.requests()} requests, of which half failed`;
    } finally {
      receiver.close();
    }
  },
};

const listening = (query: IngestProcess) => eventually(() => query.metric("noisefloor_watches_leader"), MINUTE_MS);

type Receiver = { readonly url: string; readonly taken: ReadonlySet<string>; requests(): number; close(): void };

/** Takes half of the webhooks, and fails in different ways with the others. */
async function startReceiver(random: Random): Promise<Receiver> {
  const taken = new Set<string>();
  let requests = 0;
  const server: Server = createServer((request, response) => {
    request.resume().once("end", () => {
      requests++;
      const way = random.int(0, 5);
      if (way < 3) {
        taken.add(String(request.headers["webhook-id"]));
        response.end("ok");
      } else if (way === 3) response.writeHead(503).end("later");
      else if (way === 4) response.writeHead(302, { location: "/elsewhere" }).end();
      else request.socket.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/hook`, taken, requests: () => requests, close: () => void server.close() };
}

type Times = { readonly began: number; readonly ended: number };

/** Whether an observation was made shortly before it was received, whenever that was; and whether it may have been. */
const isFresh = ({ at }: KnownEvent, { ended }: Times) => at >= ended - MAX_LATE_HOURS * HOUR_MS;
const mayBeFresh = ({ at }: KnownEvent, { began }: Times) => at >= began - MAX_LATE_HOURS * HOUR_MS;
const ipsOf = (events: readonly KnownEvent[]) => new Set(events.map(({ ip }) => ip));

function expectedOfNetwork(events: readonly KnownEvent[], network: string, times: Times) {
  const seen = events.filter(({ ip }) => ip.startsWith(network.slice(0, -"0/24".length)));
  return {
    must: ipsOf(seen.filter((event) => isFresh(event, times))),
    may: ipsOf(seen.filter((event) => mayBeFresh(event, times))),
  };
}

/** An address that only history has with the tag may be told of, once it has it and is seen. */
function expectedOfSearch(events: readonly KnownEvent[], tagId: string, times: Times) {
  const global = events.filter(({ dataset }) => dataset === "global");
  const tagged = global.filter(({ tagIds }) => tagIds.includes(tagId));
  const seen = ipsOf(global.filter((event) => mayBeFresh(event, times)));
  return {
    must: ipsOf(tagged.filter((event) => isFresh(event, times))),
    may: new Set([...ipsOf(tagged)].filter((ip) => seen.has(ip))),
  };
}

/** The addresses that a watch told of, from the log's own column: events list a hundred. */
const toldQuery = defineQuery({
  name: "test-told",
  sql: `SELECT arrayFlatten(groupArray(arrayFlatten(arrayMap((subject, watch) -> if(watch = {watch:UUID}, subject, []),
      subjects, watch_ids)))) AS addresses FROM watch_log`,
  params: z.object({ watch: z.string() }),
  row: z.object({ addresses: z.array(z.int()) }),
});
const toldBy = async ({ client }: Stage, watch: string): Promise<string[]> =>
  (await runForOne(client, toldQuery, { watch })).addresses.map(numberToIpv4);

const knownQuery = defineQuery({
  name: "test-known",
  sql: "SELECT count() AS count FROM watch_known",
  params: z.object({}),
  row: z.object({ count: z.int() }),
});
const readKnownCount = async ({ client }: Stage) => (await runForOne(client, knownQuery, {})).count;
