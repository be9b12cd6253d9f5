import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { explainLoss } from "@noisefloor/clickhouse/server/open.ts";
import { MAX_CLOCK_AHEAD_MS } from "@noisefloor/domain/observation/observation.ts";
import { isSensorId } from "@noisefloor/domain/observation/schema.ts";
import { isTimeZone, timeZone } from "@noisefloor/domain/time/zone.ts";
import { limitedDeadLetterStore } from "@noisefloor/ingest/dead-letters/quota.ts";
import { AUTO, findFormats } from "@noisefloor/ingest/formats/all.ts";
import type { DecodeOptions, LogFormat } from "@noisefloor/ingest/formats/format.ts";
import type { RejectedRecord } from "@noisefloor/ingest/record.ts";
import { createSensorCounter } from "@noisefloor/ingest/sensor-counts/counter.ts";
import { storeSensorCounts } from "@noisefloor/ingest/sensor-counts/store.ts";
import { fileDeadLetter } from "@noisefloor/ingest/sources/file/dead-letters.ts";
import { type LogFile, openLogFiles, type ReadFileOptions } from "@noisefloor/ingest/sources/file/log-files.ts";
import { newestTime, type ReplayRecord, readRecords } from "@noisefloor/ingest/sources/file/records.ts";
import { EXPIRED, ReplayError, type ReplaySummary, replay } from "@noisefloor/ingest/sources/file/source.ts";
import { InvalidArgumentError } from "commander";
import { readSensorFormats } from "../formats.ts";
import { type CloseStack, createCloseStack } from "../framework/close-stack.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { positiveInteger } from "../framework/positive-integer.ts";
import { fileProgress } from "../framework/progress.ts";
import { confirmSources } from "../own-addresses.ts";
import { DRY_RUN, openTarget, type ReplayTarget } from "../rows/replay-target.ts";
import { asCommand, openPreparedStore } from "../store/store.ts";

export const define: DefineCommand = (replay, createContext) => {
  replay
    .argument("<file...>", "the files, oldest first")
    .option("--format <name>", "the records' format; an unknown name lists all of them", AUTO)
    .option("--sensor <id>", "the sensor of all records, whatever they say")
    .option("--time-zone <zone>", "the zone of times that name none, like Europe/Berlin, instead of SENSOR_TIME_ZONES")
    .option("--year <year>", "the year of syslog lines, which name none, instead of that of the file's date", readYear)
    .option("--shift-to <time>", 'move all times so that the newest falls on "now" or an RFC 3339 time')
    .option("--rate <n>", "observations per second at most", positiveInteger)
    .option("--dry-run", "count what a replay would accept and reject, and change nothing", false)
    .option("--keep-going", "also when none of the first 10,000 records is accepted", false)
    .option("--yes", "also when a source looks like the sensor's own address", false)
    .action(async (files: string[], options: ReplayOptions) => runReplay(files, options, await createContext()));
};

export type ReplayOptions = {
  readonly format: string;
  readonly sensor?: string | undefined;
  readonly timeZone?: string | undefined;
  readonly year?: number | undefined;
  /** `now` or an RFC 3339 time. */
  readonly shiftTo?: string | undefined;
  readonly rate?: number | undefined;
  /** Counts what would be accepted and rejected, and changes nothing. */
  readonly dryRun?: boolean;
  /** Reads on however many records are rejected. */
  readonly keepGoing?: boolean;
  /** Stores also what looks like a sensor's own address. */
  readonly yes?: boolean;
  readonly json?: boolean;
};

/** After this many rejected records without an accepted one, something is wrong with all of them. */
const MAX_REJECTED = 10_000;

/** `noisefloor replay`: stores log files, through Kafka when brokers are configured, else directly. */
export async function runReplay(
  paths: readonly string[],
  options: ReplayOptions,
  context: CommandContext,
): Promise<void> {
  // Read it before the input: an immediate end by Ctrl-C would leave the temporary copy of standard input behind.
  const { signal } = context;
  const { formats: known, decode: decodeOptions } = readSensorFormats(context.settings);
  const formats = formatsCalled(options.format, known);
  const decode = { ...decodeOptions, sensorId: readSensor(options.sensor), ...readTimes(options) };
  const shiftTo = readShiftTo(options.shiftTo);
  const { files, dispose } = await openLogFiles(paths, context.stdin).catch((error: unknown) => {
    throw new UserError(`cannot read the input: ${error instanceof Error ? error.message : String(error)}`);
  });
  const closeStack = createCloseStack();
  closeStack.add(dispose);
  try {
    await confirmSources(files, { formats, decode }, { yes: options.dryRun === true || options.yes === true }, context);
    const { store, target, batches } = await openReplay(options, context, closeStack);
    const shiftMs = shiftTo === undefined ? 0 : await measureShift(files, { formats, decode }, shiftTo, context);
    if (shiftTo !== undefined && options.json !== true) {
      context.print(`All times move by the same: the newest becomes ${formatTime(shiftTo)}.`);
    }
    const progress = fileProgress("Replaying", files, context.settings.logLevel !== "silent");
    try {
      const summary = await replay(readRecords(files, { formats, decode, shiftMs, onBytes: progress.advance }), {
        ...batches,
        rate: options.rate,
        stop: signal,
        stopAfterRejected: options.keepGoing ? undefined : MAX_REJECTED,
        onProgress: ({ accepted, rejected }) => progress.note(`${accepted} ${target.verb}, ${rejected} rejected`),
      });
      progress.end();
      finish(summary, target, options, shiftTo, context);
    } catch (error) {
      progress.end();
      if (!(error instanceof ReplayError)) throw error;
      if (options.json === true) context.print(JSON.stringify(toJson(error.summary, options, shiftTo, false)));
      else printSummary(error.summary, target.verb, context.print);
      const reason = await explainLoss(store.server, error);
      throw new UserError(`the replay ended early: ${reason instanceof Error ? reason.message : String(reason)}`);
    } finally {
      progress.end();
    }
  } finally {
    await closeStack.closeAll();
  }
}

/** Opens the store, the target of accepted records, and the table of dead letters. */
async function openReplay({ dryRun }: ReplayOptions, context: CommandContext, closeStack: CloseStack) {
  const { settings, signal, log } = context;
  const store = await openPreparedStore(settings, dryRun ? undefined : asCommand(context, signal));
  closeStack.add(store.close);
  const catalogue = await openTagCatalogue(store.client);
  closeStack.add(catalogue.stop);
  const disk = await openDiskGuard(store.client, { floorBytes: settings.minFreeDiskBytes });
  closeStack.add(disk.stop);
  const target = dryRun ? DRY_RUN : await openTarget(context, store, catalogue, disk);
  closeStack.add(target.close);
  const deadLetters = limitedDeadLetterStore(store.client, {
    source: "file",
    bytesPerDay: settings.deadLetterBytesPerDay,
    now: Date.now,
    assertSpace: disk.assertSpace,
    log,
  });
  const counter = createSensorCounter(Date.now);
  if (!dryRun) closeStack.add(storeSensorCounts(counter, store.client, log).close);
  // What goes to the brokers stays as it is in the file, and their consumer enriches.
  const batches = {
    catalogue,
    retentionDays: () => store.retentionDays,
    right: "everything",
    now: Date.now,
    sink: target.sink,
    counts: counter.of("file"),
    storeDeadLetters: async (rejected: readonly RejectedRecord<ReplayRecord>[]) => {
      if (!dryRun) await deadLetters(rejected.map(fileDeadLetter));
    },
  } as const;
  return { store, target, batches };
}

function finish(
  summary: ReplaySummary,
  target: ReplayTarget,
  options: ReplayOptions,
  shiftTo: number | undefined,
  { signal, print }: CommandContext,
): void {
  if (options.json === true) print(JSON.stringify(toJson(summary, options, shiftTo, !signal.aborted)));
  else {
    if (signal.aborted) for (const line of formatInterruption(options, shiftTo)) print(line);
    printSummary(summary, target.verb, print);
  }
  if (signal.aborted) process.exitCode = 130;
  else assertUseful(summary, options);
}

const formatTime = (time: number) => new Date(time).toISOString();

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

/** By how many milliseconds all times move so that the newest becomes the given one. */
async function measureShift(
  files: readonly LogFile[],
  reading: Pick<ReadFileOptions, "formats" | "decode">,
  shiftTo: number,
  { settings }: CommandContext,
): Promise<number> {
  const progress = fileProgress("Finding the newest time", files, settings.logLevel !== "silent");
  try {
    const newest = await newestTime(files, {
      ...reading,
      latest: Date.now() + MAX_CLOCK_AHEAD_MS,
      onBytes: progress.advance,
    });
    if (newest === undefined) throw new UserError("no record has a time that could be shifted");
    return shiftTo - newest;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot find the newest time: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    progress.end();
  }
}

function formatsCalled(name: string, known: readonly LogFormat[]): readonly LogFormat[] {
  const formats = findFormats(name, known);
  if (formats !== undefined) return formats;
  const all = known.map((candidate) => `  ${candidate.name}: ${candidate.description}`).join("\n");
  throw new UserError(
    `there is no log format "${name}"; there are\n  ${AUTO}: any of these, recognised record by record\n${all}`,
  );
}

function readSensor(id: string | undefined): string | undefined {
  if (id === undefined || isSensorId(id)) return id;
  throw new UserError("--sensor takes a name of at most 128 characters");
}

function readYear(text: string): number {
  const year = /^\d{4}$/.test(text) ? Number(text) : 0;
  if (year < 1_970) throw new InvalidArgumentError("It takes a year like 2026.");
  return year;
}

/** What the command line says of times without a zone or a year. */
function readTimes({ timeZone: name, year }: ReplayOptions): Pick<DecodeOptions, "timeZoneOf" | "latestTime"> {
  if (name !== undefined && !isTimeZone(name)) throw new UserError(`--time-zone: there is no zone "${name}"`);
  const zone = name === undefined ? undefined : timeZone(name);
  return {
    ...(zone !== undefined && { timeZoneOf: () => zone }),
    ...(year !== undefined && { latestTime: Date.UTC(year + 1, 0, 1) - 1 }),
  };
}

function readShiftTo(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (text === "now") return Date.now();
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(time))
    throw new UserError(`--shift-to takes "now" or a time like 2026-11-20T14:00:00Z, not "${text}"`);
  return time;
}

function toJson(
  { read, accepted, rejected, reasons, ignored }: ReplaySummary,
  { dryRun = false }: ReplayOptions,
  shiftTo: number | undefined,
  isComplete: boolean,
) {
  const shifted = shiftTo === undefined ? {} : { shifted_to: formatTime(shiftTo) };
  return { dry_run: dryRun, is_complete: isComplete, read, accepted, rejected, reasons, ignored, ...shifted };
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
