import { mkdir, readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { provideClickHouse, provideKafka, type Running } from "../support/servers/providers.ts";
import { ALL_PARTS } from "./all.ts";
import { measureSpeed } from "./machine-speed.ts";
import type { Pace } from "./part.ts";
import { toSvg } from "./report/chart.ts";
import { compareReports } from "./report/compare.ts";
import { type PartReport, type Report, reportSchema } from "./report/report.ts";
import { comparedRowsOf, headOf, legendOf, rowsOf, textsOf, toMarkdown } from "./report/table.ts";
import { measurePart, openRun } from "./run.ts";

/** What fits into fifteen minutes on two cores. */
const SIZE = 12_000_000;
const SMALLER = [1 / 16, 1 / 4];
const SEED = 20_261_122;
const PACE: Pace = { rounds: 3, loadSeconds: 4, repeatMs: 500, perMessage: [1, 1_000] };
const WATCH_MS = 2_000;
const NAMES = ALL_PARTS.map(({ name }) => name);

const HELP = `Measures Noisefloor against its peers and limits, each ratio within this run.

  npm run bench
  npm run bench -- --only lookup --size 3000000

Options:
  --only PART      one part, or several when given again: ${NAMES.join(", ")}
  --size NUMBER    observations of the store; growth adds stores of a quarter and a sixteenth (default ${SIZE})
  --rounds NUMBER  rounds of each comparison (default ${PACE.rounds})
  --seed NUMBER    of the data (default ${SEED})
  --compare FILE   the report.json of an earlier run; ends with 1 when a ratio to a peer is worse
  --out FOLDER     where the report goes (default bench/results; with --only or --size a folder "partial" in it)
  --help           this text

Parts:
${ALL_PARTS.map(({ name, what }) => `  ${name.padEnd(16)} ${what}`).join("\n")}`;

const values = readArguments();
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const unknown = values.only?.filter((name) => !NAMES.includes(name)) ?? [];
if (unknown.length > 0) fail(`there is no part ${unknown.join(", ")}; there are ${NAMES.join(", ")}`);
const [size, seed, rounds] = [wholeNumber("size", SIZE), wholeNumber("seed", SEED), wholeNumber("rounds", PACE.rounds)];
const earlier = values.compare === undefined ? undefined : await readReport(values.compare);

// Only an exit of our own takes along what was started.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const start = performance.now();
const elapsed = () => (performance.now() - start) / 1_000;
const say = (text: string) => console.log(`${elapsed().toFixed(0).padStart(4)} s  ${text}`);

const { emptyRoutePerSecond, parts } = await measureAll();
const report: Report = {
  made: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} x ${cpus()[0]?.model.trim() ?? "processor"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  size,
  seed,
  rounds,
  seconds: Math.round(elapsed()),
  emptyRoutePerSecond,
  parts,
};
print(report);
await write(report);
if (earlier !== undefined) printComparison(report, earlier);
// Ends what a failed part may have left open, too.
process.exit();

async function measureAll(): Promise<Pick<Report, "emptyRoutePerSecond" | "parts">> {
  const reports: PartReport[] = [];
  let emptyRoutePerSecond: number | undefined;
  const clickhouse = await provideClickHouse(process.env);
  let kafka: Promise<Running<string>> | undefined;
  const broker = async () => {
    kafka ??= provideKafka(process.env);
    return (await kafka).at;
  };
  const pace = { ...PACE, rounds };
  const opened = openRun({
    clickhouse: clickhouse.at,
    broker,
    size,
    smaller: SMALLER,
    seed,
    pace,
    say: (text) => say(`  ${text}`),
  });
  try {
    say("an empty route, for how fast this machine is today");
    emptyRoutePerSecond = await measureSpeed(opened.run);
    for (const part of ALL_PARTS.filter(({ name }) => values.only?.includes(name) ?? true)) {
      say(`${part.name}: ${part.what}`);
      try {
        const report = await measurePart(part, opened.run, WATCH_MS);
        reports.push(report);
        if (report.failures.length > 0) process.exitCode = 1;
      } catch (error) {
        say(`  failed: ${error instanceof Error ? error.stack : String(error)}`);
        process.exitCode = 1;
      }
    }
  } finally {
    await opened.close();
    await kafka?.then(({ stop }) => stop()).catch(() => {});
    await clickhouse.stop();
  }
  return { emptyRoutePerSecond, parts: reports };
}

function print(made: Report): void {
  console.log(`\n${headOf(made)}\n${legendOf(made)}`);
  for (const part of made.parts) {
    console.log(`\n${part.name} (${part.seconds} s; load average before: ${part.before.loadAverage})`);
    console.table(rowsOf(part.lines));
    for (const text of textsOf(part)) console.log(text);
  }
}

async function write(made: Report): Promise<void> {
  const isWhole = values.only === undefined && values.size === undefined && process.exitCode === undefined;
  const folder =
    values.out ?? fileURLToPath(new URL(`../../bench/results/${isWhole ? "" : "partial"}`, import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/report.json`, `${JSON.stringify(made, undefined, 2)}\n`);
  await writeFile(`${folder}/report.svg`, toSvg(made));
  await writeFile(`${folder}/report.md`, toMarkdown(made));
  console.log(`\nThe report is in ${folder}: report.md, report.json, report.svg`);
}

function printComparison(now: Report, before: Report): void {
  const compared = compareReports(now, before);
  console.log(`\nAgainst the run of ${before.made} (${before.size} observations):`);
  console.table(comparedRowsOf(compared));
  if (compared.some(({ isWorse }) => isWorse)) process.exitCode = 1;
}

function readArguments() {
  const text = { type: "string" } as const;
  const options = {
    only: { type: "string", multiple: true },
    size: text,
    rounds: text,
    seed: text,
    compare: text,
    out: text,
    help: { type: "boolean", short: "h", default: false },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(name: "size" | "rounds" | "seed", otherwise: number): number {
  const text = values[name];
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,9}$/.test(text)) fail(`--${name} takes a whole number from 1 on, got ${text}`);
  return Number(text);
}

async function readReport(file: string): Promise<Report> {
  try {
    return reportSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    return fail(`--compare takes the report.json of an earlier run: ${error instanceof Error ? error.message : error}`);
  }
}

function fail(message: string): never {
  console.error(`bench: ${message}`);
  process.exit(2);
}
