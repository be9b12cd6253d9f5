import { seeded } from "../../support/builders/random.ts";
import { pathOf } from "../activity-question.ts";
import { growth as toLine } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { askRawQuick } from "../peers/raw-addresses.ts";
import { inTurn, timeOf } from "../rounds.ts";
import { someAddresses, type World } from "../world.ts";

const CONNECTIONS = 64;
const HOURS = 24;
/** A question is flat if it takes at most this many times as long with 16 times the data. */
const FLAT = 1 / 1.5;

/** Asks a world. @returns milliseconds. */
type Question = { readonly name: string; readonly isFlat: boolean; readonly ask: (world: Asked) => Promise<number> };
type Asked = { readonly world: World; readonly run: Run; readonly pickSeen: () => string };

const timed =
  (path: (asked: Asked) => string): Question["ask"] =>
  (asked) =>
    timeOf(() => asked.world.service.get(path(asked)), asked.run.pace);
const activity = (tag: "heavy" | "ordinary", days: number, includeIps: boolean) =>
  timed(({ world }) => pathOf({ tag: world[tag], days, width: HOURS * 3_600, includeIps }));

const QUESTIONS: readonly Question[] = [
  { name: `GET /v3/community/{ip}, ${CONNECTIONS} connections: p50`, isFlat: true, ask: load },
  { name: "GET /v3/ip/{ip}", isFlat: true, ask: timed((asked) => `/v3/ip/${asked.pickSeen()}`) },
  {
    name: "timeline of 90 d",
    isFlat: true,
    ask: timed((asked) => `/v3/noise/ips/${asked.pickSeen()}/timeline?days=90`),
  },
  { name: "POST /v3/ip, 1000, quick", isFlat: true, ask: bulk },
  { name: "ordinary tag, 30 d by 24 h", isFlat: true, ask: activity("ordinary", 30, false) },
  { name: "ordinary tag, 90 d by 24 h, with addresses", isFlat: true, ask: activity("ordinary", 90, true) },
  { name: "heavy tag, 90 d by 24 h", isFlat: false, ask: activity("heavy", 90, false) },
];

export const growth: Part = {
  name: "growth",
  what: "how the time of each question grows with the store",
  usesWorld: true,
  async measure(run) {
    const smaller: World[] = [];
    try {
      for (const share of run.smaller) smaller.push(await run.openWorld(Math.round(run.size * share)));
      const worlds = [...smaller, await run.world()];
      const asked: Asked[] = [];
      for (const world of worlds) asked.push(await toAsked(run, world));
      const sizes = worlds.map(({ history }) => history.rows);
      const measureOne = async ({ name, isFlat, ask }: Question) => {
        const sides = Object.fromEntries(asked.map((one, index) => [String(index), () => ask(one)]));
        return [toLine(name, sizes, Object.values(await inTurn(sides, run.pace)), isFlat ? FLAT : undefined)];
      };
      const questions = Object.fromEntries(QUESTIONS.map((one) => [one.name, () => measureOne(one)]));
      const measured = await measureEach(questions, run.say);
      return { ...measured, notes: [`Sizes: ${sizes.join(", ")} observations. Flat means at most 1.5 times as long.`] };
    } finally {
      for (const world of smaller) await world.close();
    }
  },
};

async function toAsked(run: Run, world: World): Promise<Asked> {
  const seen = [...(await askRawQuick(world, someAddresses(world, 1_000))).keys()];
  const random = seeded(run.seed);
  const asked = { world, run, pickSeen: () => random.pick(seen) };
  // Node compiles the code of a route while it is first asked; the largest world's service was asked by other parts.
  await load(asked);
  return asked;
}

async function load({ world, run }: Asked): Promise<number> {
  const requests = someAddresses(world, 5_000).map((ip) => world.service.request(`/v3/community/${ip}`));
  const { port } = world.service;
  const order = { port, requests, connections: CONNECTIONS, seconds: run.pace.loadSeconds, seed: run.seed };
  return (await run.load.play(order, [200, 404])).p50;
}

function bulk({ world, run }: Asked): Promise<number> {
  const body = JSON.stringify({ ips: someAddresses(world, 1_000) });
  return timeOf(() => world.service.post("/v3/ip?quick=true", body), run.pace);
}
