import type { Dataset } from "@noisefloor/domain/access/scope.ts";
import { type Asked, nameOf, pathOf, toQuestion } from "../activity-question.ts";
import { against, type Line, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import { mergeOpenPartitions } from "../merges.ts";
import type { Part, Run } from "../part.ts";
import { inTurn, timeOf } from "../rounds.ts";
import type { World } from "../world.ts";

const LIMIT_MS = { counted: 1_000, listed: 1_300 };
const DATASETS: readonly (readonly Dataset[])[] = [["global"], ["global", "community"]];
const ASKED: readonly Asked[] = [1, 24, 168].flatMap((hours) =>
  [false, true].map((ips): Asked => ({ tag: "heavy", days: 90, hours, ips })),
);
const OPEN_MONTH: Asked = { tag: "heavy", days: 30, hours: 24, ips: false };

export const worm: Part = {
  name: "worm",
  what: "activity of a tag with six times the addresses, and what it costs that a month is still open",
  usesWorld: false,
  async measure(run) {
    const world = await run.world("worm");
    const questions = DATASETS.flatMap((datasets) =>
      ASKED.map((asked) => [nameIn(asked, datasets), () => measureOne(run, world, asked, datasets)] as const),
    );
    const open = { "a month that is still open": () => measureOpenMonth(run, world) };
    const measured = await measureEach({ ...Object.fromEntries(questions), ...open }, run.say);
    const count = world.history.heavyAddresses.toLocaleString("en-US");
    return { ...measured, notes: [`The tag's addresses are drawn from ${count}, with a skew, in every hour.`] };
  },
};

function nameIn(asked: Asked, datasets: readonly Dataset[]): string {
  return `a worm's ${nameOf(asked)}${datasets.length > 1 ? ", two datasets" : ""}`;
}

async function measureOne(run: Run, world: World, asked: Asked, datasets: readonly Dataset[]): Promise<Line[]> {
  const path = pathOf(toQuestion(world, asked), datasets);
  const { ours } = await inTurn({ ours: () => timeOf(() => world.service.drain(path), run.pace) }, run.pace);
  return [within(nameIn(asked, datasets), ours, asked.ips ? LIMIT_MS.listed : LIMIT_MS.counted)];
}

/** The newest month, with the parts that inserts and the server's own merges have left, and then as one part. */
async function measureOpenMonth(run: Run, world: World): Promise<Line[]> {
  const path = pathOf(toQuestion(world, OPEN_MONTH));
  const ask = () => inTurn({ ours: () => timeOf(() => world.service.drain(path), run.pace) }, run.pace);
  const open = await ask();
  await mergeOpenPartitions(world.client);
  const merged = await ask();
  const named = { name: `a worm's ${nameOf(OPEN_MONTH)}, month still open`, unit: "ms", target: 0.5 } as const;
  return [against({ ...named, peer: "the same, merged" }, open.ours, merged.ours)];
}
