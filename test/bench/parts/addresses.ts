import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { seeded } from "../../support/builders/random.ts";
import { against, type Line, type Series, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { type AddressAnswers, askRawFull, askRawQuick, askRawTimeline } from "../peers/raw-addresses.ts";
import { inTurn, timeOf } from "../rounds.ts";
import { someAddresses, type World } from "../world.ts";

/** The most that one request may ask for; a small world has fewer. */
const MOST = 10_000;
const DAYS = 90;
const PEER = "raw observations";

/** `POST /v3/ip`, `GET /v3/ip/{ip}` and the timeline. */
export const addresses: Part = {
  name: "addresses",
  what: "bulk lookups, the context and the timeline of an address, against the same over raw observations",
  usesWorld: true,
  async measure(run) {
    const world = await run.world();
    const ips = someAddresses(world, Math.min(MOST, 2 * world.history.addresses));
    const seen = [...(await askRawQuick(world, ips)).keys()];
    const bulk = (isQuick: boolean, limitMs: number) => {
      const name = `POST /v3/ip, ${ips.length}, ${isQuick ? "quick" : "full"}`;
      return { [name]: () => measureBulk(run, world, { name, ips, isQuick, limitMs }) };
    };
    const single = { "GET /v3/ip/{ip} and the timeline": () => measureSingle(run, world, seen) };
    return measureEach({ ...bulk(true, 700), ...bulk(false, 4_000), ...single }, run.say);
  },
};

const found = z.object({ found: z.literal(true), classification: z.string() });
const fullSchema = found.extend({
  last_seen_timestamp: z.string(),
  metadata: z.object({ sensor_count: z.int(), sensor_hits: z.int() }),
});
const bulkOf = <T extends z.ZodType>(scanner: T) =>
  z.object({ data: z.array(z.object({ ip: z.string(), internet_scanner_intelligence: scanner })) });

function toAnswers(text: string, isQuick: boolean): AddressAnswers {
  const body: unknown = JSON.parse(text);
  if (isQuick) {
    const { data } = bulkOf(found).parse(body);
    return new Map(
      data.map(({ ip, internet_scanner_intelligence: { classification } }) => [ip, { classification }] as const),
    );
  }
  const { data } = bulkOf(fullSchema).parse(body);
  return new Map(
    data.map(({ ip, internet_scanner_intelligence: { classification, last_seen_timestamp, metadata } }) => [
      ip,
      {
        classification,
        sensors: metadata.sensor_count,
        observations: metadata.sensor_hits,
        lastSeen: last_seen_timestamp,
      },
    ]),
  );
}

type Bulk = {
  readonly name: string;
  readonly ips: readonly string[];
  readonly isQuick: boolean;
  readonly limitMs: number;
};

async function measureBulk(run: Run, world: World, { name, ips, isQuick, limitMs }: Bulk): Promise<Line[]> {
  const path = `/v3/ip?quick=${isQuick}`;
  const askRaw = isQuick ? askRawQuick : askRawFull;
  const body = JSON.stringify({ ips });
  const answers = toAnswers(await world.service.post(path, body), isQuick);
  const fault = isDeepStrictEqual(answers, await askRaw(world, ips)) ? undefined : "answers differ";
  const times = await inTurn(
    {
      ours: () => timeOf(() => world.service.post(path, body), run.pace),
      raw: () => timeOf(() => askRaw(world, ips), run.pace),
    },
    run.pace,
  );
  return [
    against({ name, unit: "ms", peer: PEER, fault }, times.ours, times.raw),
    within(name, times.ours, limitMs, fault),
  ];
}

const timelineSchema = z.object({ results: z.array(z.object({ data: z.int() })) });

async function measureSingle(run: Run, world: World, seen: readonly string[]): Promise<Line[]> {
  const random = seeded(run.seed);
  const contextPath = (ip: string) => `/v3/ip/${ip}`;
  const timelinePath = (ip: string) => `/v3/noise/ips/${ip}/timeline?days=${DAYS}`;
  const [sample] = seen;
  if (sample === undefined) throw new Error("none of the addresses was seen");
  const { results } = timelineSchema.parse(JSON.parse(await world.service.get(timelinePath(sample))));
  const total = results.reduce((sum, { data }) => sum + data, 0);
  const fault = total === (await askRawTimeline(world, sample, DAYS)) ? undefined : "answers differ";
  /** Another address each time, or the answer would come from memory. */
  const each = (ask: (ip: string) => Promise<unknown>) => () => timeOf(() => ask(random.pick(seen)), run.pace);
  const times = await inTurn(
    {
      context: each((ip) => world.service.get(contextPath(ip))),
      rawContext: each((ip) => askRawFull(world, [ip])),
      timeline: each((ip) => world.service.get(timelinePath(ip))),
      rawTimeline: each((ip) => askRawTimeline(world, ip, DAYS)),
    },
    run.pace,
  );
  const lines = (name: string, ours: Series, raw: Series, doubt?: string) => [
    against({ name, unit: "ms", peer: PEER, fault: doubt }, ours, raw),
    within(name, ours, 40, doubt),
  ];
  return [
    ...lines("GET /v3/ip/{ip}", times.context, times.rawContext),
    ...lines(`timeline of ${DAYS} d`, times.timeline, times.rawTimeline, fault),
  ];
}
