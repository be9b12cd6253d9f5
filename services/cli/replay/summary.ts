import { AUTO } from "@noisefloor/ingest/formats/all.ts";
import { EXPIRED, type ReplaySummary } from "@noisefloor/ingest/sources/file/source.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { ReplayOptions } from "./options.ts";

/** Prints what became of the records, and sets the exit code. @throws UserError when none was accepted. */
export function finish(
  summary: ReplaySummary,
  verb: string,
  options: ReplayOptions,
  shiftTo: number | undefined,
  skippedFiles: number,
  { signal, print }: CommandContext,
): void {
  if (options.json === true) print(JSON.stringify(toJson(summary, options, shiftTo, skippedFiles, !signal.aborted)));
  else {
    if (signal.aborted) for (const line of formatInterruption(options, shiftTo)) print(line);
    printSummary(summary, verb, print);
    if (skippedFiles > 0) print(`skipped   ${skippedFiles} files, named above`);
  }
  if (signal.aborted) process.exitCode = 130;
  else assertUseful(summary, options);
}

export const formatTime = (time: number) => new Date(time).toISOString();

/** Ids are derived from the shifted times, so the same files shifted to another time would count twice. */
function formatInterruption({ dryRun, shiftTo: given }: ReplayOptions, shiftTo: number | undefined): string[] {
  if (dryRun) return ["Stopped before the end; nothing was changed."];
  const lines = ["Stopped before the end; what was read so far is stored. The same command again counts nothing twice"];
  if (shiftTo === undefined || given !== "now") return [`${lines[0]}.`];
  return [`${lines[0]},`, `with --shift-to ${formatTime(shiftTo)} in the place of --shift-to now.`];
}

/** Throws a UserError when there were records and none was accepted. */
function assertUseful(summary: ReplaySummary, { format, dryRun, shiftTo }: ReplayOptions): void {
  const reasons = { ...summary.reasons, [EXPIRED]: summary.ignored[EXPIRED] ?? 0 };
  const [[reason, records] = ["", 0]] = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  if (records === 0 || summary.accepted > 0) return;
  const remedy = REMEDIES[reason]?.(format, shiftTo) ?? (dryRun ? "" : 'see "noisefloor dead-letters list"');
  const outcome = summary.isHopeless
    ? `none of the first ${summary.rejected} records was accepted, the rest was not read`
    : "no record was accepted";
  const further = summary.isHopeless ? ". With --keep-going the rest is read all the same" : "";
  throw new UserError(`${outcome}${remedy === "" ? "" : `: ${remedy}`}${further}`);
}

/** What most likely helps when no record is accepted for the same reason, by that reason. */
const REMEDIES: Readonly<Record<string, (format: string, shiftTo: string | undefined) => string>> = {
  "older-than-retention": (_format, shiftTo) =>
    shiftTo === undefined
      ? "they are older than the retention; --shift-to now moves all times to the present"
      : `with the newest at ${shiftTo} they are older than the retention; look at --shift-to and RETENTION_DAYS`,
  "in-the-future": () =>
    "their times are in the future; if they are local times, --time-zone names their zone; with --shift-to now the newest falls on the present",
  "not-json": (format) => `they cannot be read as ${format}; look at --format`,
  "invalid-observation": (format) =>
    format === "observations"
      ? '"noisefloor schema" prints what it accepts'
      : `--format ${format} does not accept them; see "noisefloor dead-letters list"`,
  "unknown-format": (format) =>
    format === AUTO
      ? "no format recognises them; a field map (FIELD_MAPS) says which field of JSON, group of a line's pattern or column of CSV is what"
      : `they are not in the format ${format}; --format ${AUTO} recognises each record`,
  "unknown-tag": () => 'they carry tags that are not in the catalogue; import these with "noisefloor tags import"',
  "source-not-routable": () =>
    "their sources are private addresses, which no scan from the Internet has, or no IPv4 addresses",
};

/** The summary for scripts. */
export function toJson(
  { read, accepted, rejected, reasons, ignored }: ReplaySummary,
  { dryRun = false }: ReplayOptions,
  shiftTo: number | undefined,
  skippedFiles: number,
  isComplete: boolean,
) {
  const skipped = skippedFiles === 0 ? {} : { skipped_files: skippedFiles };
  const shifted = shiftTo === undefined ? {} : { shifted_to: formatTime(shiftTo) };
  return {
    dry_run: dryRun,
    is_complete: isComplete,
    read,
    accepted,
    rejected,
    reasons,
    ignored,
    ...shifted,
    ...skipped,
  };
}

/** Prints how many records were read, accepted and rejected. */
export function printSummary(summary: ReplaySummary, verb: string, print: (line?: string) => void): void {
  const seconds = Math.max(0.001, (Date.now() - summary.startedAt) / 1_000);
  print(`read      ${summary.read}`);
  print(`${verb.padEnd(9)} ${summary.accepted}`);
  print(`rejected  ${summary.rejected}`);
  for (const [reason, count] of Object.entries(summary.reasons).sort()) print(`  ${reason.padEnd(22)} ${count}`);
  const ignored = Object.values(summary.ignored).reduce((sum, count) => sum + count, 0);
  if (ignored > 0) print(`ignored   ${ignored}`);
  for (const [reason, count] of Object.entries(summary.ignored).sort()) print(`  ${reason.padEnd(22)} ${count}`);
  print(`seconds   ${seconds.toFixed(1)} (${Math.round(summary.read / seconds)} records/s)`);
}
