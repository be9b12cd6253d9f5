import { z } from "zod";
import { against, type Line, within } from "../line.ts";
import { getRequest, type LoadResult } from "../load/protocol.ts";
import type { Part, Run } from "../part.ts";
import { askRawQuick, rawLookupRequest } from "../peers/raw-addresses.ts";
import { startEmptyRoute } from "../peers/start-empty-route.ts";
import { startQueryService } from "../query-service.ts";
import { inTurn } from "../rounds.ts";
import { someAddresses, type World } from "../world.ts";

const CONNECTIONS = 64;
const DIFFERENT = 5_000;
const CHECKED = 200;
/** Seen, or never seen. */
const STATUSES = [200, 404];
const EMPTY_ROUTE = "an empty Fastify route";
const NAME = `GET /v3/community/{ip}, ${CONNECTIONS} connections`;

export const lookup: Part = {
  name: "lookup",
  what: "community lookups, against an empty route and against one query per lookup",
  usesWorld: true,
  async measure(run) {
    const world = await run.world();
    const ips = someAddresses(world, DIFFERENT);
    const fault = await faultOf(world, ips.slice(0, CHECKED));
    const emptyRoute = await startEmptyRoute(await bodyOf(world, ips));
    const fromStore = await startQueryService(world.connection, world.key, { LOOKUP_INDEX_ADDRESSES: "0" });
    try {
      const sides = toSides(run, world, ips, fromStore.port, emptyRoute.port);
      return { lines: await measureSides(run, sides, fault) };
    } finally {
      await emptyRoute.close();
      await fromStore.close();
    }
  },
};

type Side = { readonly port: number; readonly requests: readonly string[]; readonly connections?: number };
type Sides = Readonly<Record<"ours" | "idle" | "empty" | "fromStore" | "query", Side>>;

function toSides(run: Run, world: World, ips: readonly string[], storePort: number, emptyPort: number): Sides {
  const requests = ips.map((ip) => world.service.request(`/v3/community/${ip}`));
  const queries = ips.map((ip) => {
    const { path, headers } = rawLookupRequest(world, ip);
    return getRequest(path, headers);
  });
  return {
    ours: { port: world.service.port, requests },
    idle: { port: world.service.port, requests, connections: 1 },
    empty: { port: emptyPort, requests },
    fromStore: { port: storePort, requests },
    query: { port: Number(new URL(run.clickhouse.url).port), requests: queries },
  };
}

async function measureSides(run: Run, sides: Sides, fault: string | undefined): Promise<Line[]> {
  run.say(NAME);
  let seed = run.seed;
  const play = ({ port, requests, connections = CONNECTIONS }: Side) => {
    const order = { port, requests: [...requests], connections, seconds: run.pace.loadSeconds };
    return () => run.load.play({ ...order, seed: seed++ }, STATUSES);
  };
  // Node compiles the code of a route while it is first asked; that is not what callers see.
  for (const side of [sides.ours, sides.empty, sides.fromStore]) await play(side)();
  const { ours, empty, query, fromStore, idle } = await inTurn(
    {
      ours: play(sides.ours),
      empty: play(sides.empty),
      query: play(sides.query),
      fromStore: play(sides.fromStore),
      idle: play(sides.idle),
    },
    run.pace,
  );
  const of = (results: readonly LoadResult[], metric: "perSecond" | "p50" | "p99") => results.map((one) => one[metric]);
  const rate = (peer: string, theirs: readonly LoadResult[], target?: number) =>
    against({ name: NAME, unit: "per second", peer, target, fault }, of(ours, "perSecond"), of(theirs, "perSecond"));
  const time = (metric: "p50" | "p99") =>
    against({ name: `${NAME}: ${metric}`, unit: "ms", peer: EMPTY_ROUTE }, of(ours, metric), of(empty, metric));
  return [
    rate(EMPTY_ROUTE, empty, 0.55),
    rate("one query per lookup over raw observations", query),
    rate("the service without the index in memory", fromStore),
    time("p50"),
    time("p99"),
    within(`${NAME}: p99`, of(ours, "p99"), 15),
    within("GET /v3/community/{ip}, one after the other: p50", of(idle, "p50"), 2),
  ];
}

/** What the service answers for an address that was seen. */
async function bodyOf(world: World, ips: readonly string[]): Promise<unknown> {
  const [seen] = (await askRawQuick(world, ips.slice(0, CHECKED))).keys();
  return JSON.parse(await world.service.get(`/v3/community/${seen}`));
}

const lookupSchema = z.object({ noise: z.boolean(), classification: z.string().optional() });

/**
 * Compares the answers for some addresses with those of raw observations. All are asked for at once: after such a burst
 * V8 may collect garbage in another way for good, and the measured lookups shall be those of any service.
 */
async function faultOf(world: World, ips: readonly string[]): Promise<string | undefined> {
  const expected = await askRawQuick(world, ips);
  const bodies = await Promise.all(ips.map((ip) => world.service.get(`/v3/community/${ip}`, STATUSES)));
  const differing = bodies.filter((body, index) => {
    const { classification } = lookupSchema.parse(JSON.parse(body));
    return classification !== expected.get(ips[index] ?? "")?.classification;
  });
  return differing.length === 0 ? undefined : `${differing.length} of ${ips.length} answers differ`;
}
