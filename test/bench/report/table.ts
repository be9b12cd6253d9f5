import { type Line, SPEED_OF_LIMITS } from "../line.ts";
import { QUIET } from "../quiet.ts";
import type { Compared } from "./compare.ts";
import type { PartReport, Report } from "./report.ts";

/** What a reader needs before any number. */
export function headOf({ made, machine, size, seed, rounds, seconds }: Report): string {
  return `${made}, ${machine}. ${size} observations from seed ${seed}, ${rounds} rounds, ${Math.round(seconds)} s.`;
}

/** How to read the ratios. */
export function legendOf({ emptyRoutePerSecond }: Report): string {
  const sentences = [
    "Ratios above 1: faster than the peer, or better than the limit.",
    "The limits were set for 45 million observations.",
  ];
  if (emptyRoutePerSecond !== undefined) {
    const [here, there] = [format(emptyRoutePerSecond), format(SPEED_OF_LIMITS)];
    sentences.push(`At the start an empty Fastify route answered ${here}/s here, and ${there}/s where they were set.`);
  }
  return sentences.join(" ");
}

/** What the reader of a part must know besides its lines. */
export function textsOf(part: PartReport): string[] {
  return [...warningsOf(part), ...part.notes, ...part.failures.map((failure) => `Failed: ${failure}`)];
}

function warningsOf({ name, before }: PartReport): string[] {
  if (before.busy <= QUIET) return [];
  const share = `${Math.round(before.busy * 100)} %`;
  return [
    `Before ${name}, other work used ${share} of the processors (load average ${before.loadAverage}): do not trust its ratios.`,
  ];
}

/** Rows for `console.table` and for Markdown. */
export function rowsOf(lines: readonly Line[]): Record<string, string>[] {
  return lines.map((line) => ({
    question: line.name,
    ours: formatValue(line.ours, line.unit),
    against: line.peer,
    theirs: formatValue(line.theirs, line.unit),
    "ratio (min..max)": `${format(line.ratio.median)} (${format(line.ratio.min)}..${format(line.ratio.max)})`,
    wanted:
      line.target === undefined ? "" : `${format(line.target)} ${line.ratio.median >= line.target ? "yes" : "NO"}`,
    exponent: line.exponent === undefined ? "" : line.exponent.toFixed(2),
    fault: line.fault ?? "",
  }));
}

export function comparedRowsOf(compared: readonly Compared[]): Record<string, string>[] {
  return compared.map(({ line, before, change, isWorse }) => ({
    question: line.name,
    against: line.peer,
    before: format(before.ratio.median),
    now: format(line.ratio.median),
    change: `${format(change)}${isWorse ? " WORSE" : ""}`,
  }));
}

/** The whole report as a document. */
export function toMarkdown(report: Report): string {
  const sections = report.parts.map((part) => {
    const text = [...textsOf(part), `Took ${part.seconds} s; load average before: ${part.before.loadAverage}.`];
    return `## ${part.name}\n\n${toTable(rowsOf(part.lines))}\n\n${text.join("\n\n")}\n`;
  });
  return `# Benchmark\n\n${headOf(report)}\n\n${legendOf(report)}\n\n![Ratios](report.svg)\n\n${sections.join("\n")}`;
}

function toTable(rows: readonly Record<string, string>[]): string {
  const names = Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => row[name] !== ""));
  const toRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    toRow(names),
    toRow(names.map(() => "---")),
    ...rows.map((row) => toRow(names.map((name) => row[name] ?? ""))),
  ].join("\n");
}

function formatValue(value: number, unit: Line["unit"]): string {
  return `${format(value)} ${unit === "per second" ? "/s" : unit}`;
}

export function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(2)));
}
