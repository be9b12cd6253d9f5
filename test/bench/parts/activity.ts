import { type ActivityAnswer, type ActivityQuestion, askService, differenceOf, pathOf } from "../activity-question.ts";
import { against, type Line, within } from "../line.ts";
import type { Part, Run } from "../part.ts";
import { type DuckDb, openDuckDb } from "../peers/duckdb.ts";
import { askRaw } from "../peers/raw-activity.ts";
import { inTurn, timeOf } from "../rounds.ts";
import type { World } from "../world.ts";

const HOUR = 3_600;
type Asked = {
  readonly tag: "heavy" | "ordinary";
  readonly days: number;
  readonly hours: number;
  readonly ips: boolean;
  readonly limitMs?: number;
};

/** With the longest time that each may take, where one is set. */
const QUESTIONS: readonly Asked[] = [
  { tag: "heavy", days: 1, hours: 1, ips: false, limitMs: 300 },
  { tag: "heavy", days: 1, hours: 1, ips: true, limitMs: 300 },
  { tag: "heavy", days: 30, hours: 24, ips: false, limitMs: 800 },
  { tag: "heavy", days: 30, hours: 24, ips: true, limitMs: 800 },
  { tag: "heavy", days: 90, hours: 24, ips: false, limitMs: 1_000 },
  { tag: "heavy", days: 90, hours: 24, ips: true },
  { tag: "ordinary", days: 30, hours: 24, ips: false, limitMs: 15 },
  { tag: "ordinary", days: 90, hours: 24, ips: true, limitMs: 40 },
];
/** Lists may make an answer so much slower. */
const MOST_FOR_LISTS = 1.3;

export const activity: Part = {
  name: "activity",
  what: "tag activity, against the same question over raw observations and against DuckDB over the distinct rows",
  usesWorld: true,
  async measure(run) {
    const world = await run.world();
    const duckDb = await openDuckDb(world);
    try {
      const lines: Line[] = [];
      for (const asked of QUESTIONS) lines.push(...(await measureOne(run, world, duckDb, asked)));
      lines.push(await measureLists(run, world));
      return {
        lines,
        notes: [
          "DuckDB holds the rows of the two tags alone and does not split addresses by classification: both favour it.",
        ],
      };
    } finally {
      await duckDb.close();
    }
  },
};

async function measureOne(run: Run, world: World, duckDb: DuckDb, asked: Asked): Promise<Line[]> {
  const name = `${asked.tag} tag, ${asked.days} d by ${asked.hours} h${asked.ips ? ", with addresses" : ""}`;
  run.say(name);
  const { question, answer } = await askService(world, { ...asked, ...toQuestion(world, asked) });
  const faultOf = (theirs: ActivityAnswer) => differenceOf(answer, theirs);
  const faults = {
    raw: faultOf(await askRaw(world, question)),
    duckDb: faultOf(await duckDb.ask(question)),
  };
  const times = await inTurn(
    {
      ours: () => timeOf(() => world.service.get(pathOf(question)), run.pace),
      raw: () => timeOf(() => askRaw(world, question), run.pace),
      duckDb: () => timeOf(() => duckDb.ask(question), run.pace),
    },
    run.pace,
  );
  const unit = "ms";
  return [
    against({ name, unit, peer: "raw observations", fault: faults.raw }, times.ours, times.raw),
    against({ name, unit, peer: "DuckDB", fault: faults.duckDb }, times.ours, times.duckDb),
    ...(asked.limitMs === undefined ? [] : [within(name, times.ours, asked.limitMs)]),
  ];
}

function toQuestion(world: World, { tag, days, hours, ips }: Asked): Omit<ActivityQuestion, "start" | "end"> {
  return { tag: world[tag], days, width: hours * HOUR, includeIps: ips };
}

async function measureLists(run: Run, world: World): Promise<Line> {
  const asked = { days: 90, hours: 24, tag: "heavy" } as const;
  const path = (ips: boolean) => pathOf({ ...toQuestion(world, { ...asked, ips }), start: 0, end: 0 });
  const times = await inTurn(
    {
      listed: () => timeOf(() => world.service.get(path(true)), run.pace),
      counted: () => timeOf(() => world.service.get(path(false)), run.pace),
    },
    run.pace,
  );
  const name = "heavy tag, 90 d by 24 h, with addresses";
  return against(
    { name, unit: "ms", peer: "the same without addresses", target: 1 / MOST_FOR_LISTS },
    times.listed,
    times.counted,
  );
}
