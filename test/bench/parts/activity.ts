import type { Dataset } from "@noisefloor/domain/access/scope.ts";
import { eventually } from "../../support/eventually.ts";
import {
  type ActivityAnswer,
  type Asked,
  askService,
  differenceOf,
  nameOf,
  pathOf,
  toQuestion,
} from "../activity-question.ts";
import { against, type Line, within } from "../line.ts";
import { measureEach } from "../measure-each.ts";
import type { Part, Run } from "../part.ts";
import { type DuckDb, openDuckDb } from "../peers/duckdb.ts";
import { askRaw } from "../peers/raw-activity.ts";
import { inTurn, timeOf } from "../rounds.ts";
import { setIntention } from "../set-intention.ts";
import type { World } from "../world.ts";

type Limited = Asked & { /** The longest that it may take. */ readonly limitMs: number };

const QUESTIONS: readonly Limited[] = [
  { tag: "heavy", days: 1, hours: 1, ips: false, limitMs: 300 },
  { tag: "heavy", days: 1, hours: 1, ips: true, limitMs: 300 },
  { tag: "heavy", days: 30, hours: 24, ips: false, limitMs: 800 },
  { tag: "heavy", days: 30, hours: 24, ips: true, limitMs: 800 },
  { tag: "heavy", days: 90, hours: 24, ips: false, limitMs: 1_000 },
  { tag: "heavy", days: 90, hours: 24, ips: true, limitMs: 1_300 },
  { tag: "heavy", days: 90, hours: 168, ips: false, limitMs: 1_000 },
  { tag: "ordinary", days: 30, hours: 24, ips: false, limitMs: 15 },
  { tag: "ordinary", days: 90, hours: 24, ips: true, limitMs: 40 },
  { tag: "steady", days: 30, hours: 24, ips: false, limitMs: 15 },
  { tag: "steady", days: 90, hours: 24, ips: true, limitMs: 40 },
];
const NOTES = [
  "DuckDB holds the rows of the three tags alone and does not split addresses by classification.",
  "The addresses of the ordinary tag come and go; those of the steady tag stay the same.",
];
const HEAVY_IN_TWO_DATASETS: readonly Limited[] = [
  { tag: "heavy", days: 1, hours: 1, ips: false, limitMs: 300 },
  { tag: "heavy", days: 30, hours: 24, ips: false, limitMs: 800 },
  { tag: "heavy", days: 90, hours: 24, ips: false, limitMs: 1_000 },
];
/**
 * Asked in two datasets, too. The heavy tag is the worst there is; addresses of the ordinary one may have worse tags.
 */
const IN_TWO_DATASETS: readonly (Asked & { readonly limitMs?: number })[] = [
  ...HEAVY_IN_TWO_DATASETS,
  { tag: "ordinary", days: 30, hours: 24, ips: false },
];
const BOTH: readonly Dataset[] = ["global", "community"];

export const activity: Part = {
  name: "activity",
  what: "tag activity, against the same question over raw observations and against DuckDB over the distinct rows",
  usesWorld: true,
  async measure(run) {
    const world = await run.world();
    run.say("DuckDB loads the distinct rows");
    const duckDb = await openDuckDb(world);
    try {
      const questions = QUESTIONS.map((asked) => [nameOf(asked), () => measureOne(run, world, duckDb, asked)] as const);
      const more = {
        "lists of addresses": () => measureLists(run, world),
        "two datasets": () => measureTwoDatasets(run, world),
        "two datasets, where other tags are worse": () => measureAmongWorse(run, world),
      };
      const measured = await measureEach({ ...Object.fromEntries(questions), ...more }, run.say);
      return { ...measured, notes: NOTES };
    } finally {
      await duckDb.close();
    }
  },
};

async function measureOne(run: Run, world: World, duckDb: DuckDb, asked: Limited): Promise<Line[]> {
  const { question, answer } = await askService(world, toQuestion(world, asked));
  const last: { raw?: ActivityAnswer; duckDb?: ActivityAnswer } = {};
  const askPeer = (peer: keyof typeof last, ask: () => Promise<ActivityAnswer>) => () =>
    timeOf(async () => {
      last[peer] = await ask();
    }, run.pace);
  const times = await inTurn(
    {
      ours: () => timeOf(() => world.service.drain(pathOf(question)), run.pace),
      raw: askPeer("raw", () => askRaw(world, question)),
      duckDb: askPeer("duckDb", () => duckDb.ask(question)),
    },
    run.pace,
  );
  const line = (peer: string, theirs: readonly number[], theirAnswer: ActivityAnswer | undefined) =>
    against(
      { name: nameOf(asked), unit: "ms", peer, fault: theirAnswer && differenceOf(answer, theirAnswer) },
      times.ours,
      theirs,
    );
  return [
    line("raw observations", times.raw, last.raw),
    line("DuckDB", times.duckDb, last.duckDb),
    within(nameOf(asked), times.ours, asked.limitMs),
  ];
}

async function measureLists(run: Run, world: World): Promise<Line[]> {
  const byHour = await measureListed(run, world, 1);
  const byDay = await measureListed(run, world, 24);
  // Those by day are measured beside their peers, who take minutes to list more than two thousand buckets.
  return [...byHour.limits, byHour.line, byDay.line];
}

/** Measures 90 days of the heavy tag, with addresses and without. */
async function measureListed(run: Run, world: World, hours: number, datasets?: readonly Dataset[], suffix = "") {
  const asked = { days: 90, hours, tag: "heavy" } as const;
  const ask = (ips: boolean) => () =>
    timeOf(() => world.service.drain(pathOf(toQuestion(world, { ...asked, ips }), datasets)), run.pace);
  const times = await inTurn({ listed: ask(true), counted: ask(false) }, run.pace);
  const [listed, counted] = [
    `${nameOf({ ...asked, ips: true })}${suffix}`,
    `${nameOf({ ...asked, ips: false })}${suffix}`,
  ];
  const named = { name: listed, unit: "ms", peer: "the same without addresses" } as const;
  const line = against(named, times.listed, times.counted);
  return { line, limits: [within(counted, times.counted, 1_000), within(listed, times.listed, 1_300)] };
}

async function measureTwoDatasets(run: Run, world: World): Promise<Line[]> {
  const lines: Line[] = [];
  for (const { limitMs, ...asked } of IN_TWO_DATASETS) {
    const ask = (datasets: readonly Dataset[]) => () =>
      timeOf(() => world.service.drain(pathOf(toQuestion(world, asked), datasets)), run.pace);
    const times = await inTurn({ both: ask(BOTH), global: ask(["global"]) }, run.pace);
    const name = `${nameOf(asked)}, two datasets`;
    lines.push(against({ name, unit: "ms", peer: "the same in the global dataset" }, times.both, times.global));
    if (limitMs !== undefined) lines.push(within(name, times.both, limitMs));
  }
  return lines;
}

async function measureAmongWorse(run: Run, world: World): Promise<Line[]> {
  try {
    await setIntention(world, world.heavy, "unknown");
    await eventually(async () => {
      const { answer } = await askService(world, toQuestion(world, { tag: "heavy", days: 1, hours: 1, ips: false }));
      const classes = Object.keys(answer.classes ?? {});
      if (classes.length < 2) throw new Error(`no address has a worse tag: all are ${classes.join()}`);
    });
    const suffix = ", two datasets, worse tags";
    const lines: Line[] = [];
    for (const { limitMs, ...asked } of HEAVY_IN_TWO_DATASETS) {
      const path = pathOf(toQuestion(world, asked), BOTH);
      const { ours } = await inTurn({ ours: () => timeOf(() => world.service.drain(path), run.pace) }, run.pace);
      lines.push(within(`${nameOf(asked)}${suffix}`, ours, limitMs));
    }
    const { line, limits } = await measureListed(run, world, 1, BOTH, suffix);
    return [...lines, ...limits, line];
  } finally {
    await setIntention(world, world.heavy, world.heavy.intention);
  }
}
