import { explainLoss } from "@noisefloor/clickhouse/server/open.ts";
import { MAX_CLOCK_AHEAD_MS } from "@noisefloor/domain/observation/observation.ts";
import { AUTO } from "@noisefloor/ingest/formats/all.ts";
import type { RejectedRecord } from "@noisefloor/ingest/record.ts";
import { fileDeadLetter } from "@noisefloor/ingest/sources/file/dead-letters.ts";
import type { LogFile, ReadFileOptions } from "@noisefloor/ingest/sources/file/log-files.ts";
import {
  newestTime,
  type ReadRecordsOptions,
  type ReplayRecord,
  readRecords,
} from "@noisefloor/ingest/sources/file/records.ts";
import { ReplayError, type ReplaySummary, replay, startSummary } from "@noisefloor/ingest/sources/file/source.ts";
import { readSensorFormats } from "../formats.ts";
import { type CloseStack, createCloseStack } from "../framework/close-stack.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { positiveInteger } from "../framework/positive-integer.ts";
import { confirmSources, warnOfOwnAddresses } from "../own-addresses.ts";
import { openDocuments } from "../replay/history.ts";
import { openFiles, type ReplayInput } from "../replay/inputs.ts";
import {
  assertInput,
  formatsCalled,
  type ReplayOptions,
  readSensor,
  readShiftTo,
  readTimes,
  readYear,
} from "../replay/options.ts";
import { fileProgress } from "../replay/progress.ts";
import { finish, formatTime, printSummary, toJson } from "../replay/summary.ts";
import { openFileSource } from "../rows/file-source.ts";
import { asCommand, openPreparedStore } from "../store/store.ts";

export const define: DefineCommand = (replay, createContext) => {
  replay
    .argument("[file...]", "files, oldest first, and folders, all below them")
    .option("--format <name>", "the records' format; an unknown name lists all of them", AUTO)
    .option("--sensor <id>", "the sensor of all records, whatever they say")
    .option("--time-zone <zone>", "the zone of times that name none, like Europe/Berlin, instead of SENSOR_TIME_ZONES")
    .option("--year <year>", "the year of syslog lines, which name none, instead of that of the file's date", readYear)
    .option("--shift-to <time>", 'move all times so that the newest falls on "now" or an RFC 3339 time')
    .option("--rate <n>", "observations per second at most", positiveInteger)
    .option("--elasticsearch <url>", "read the documents of an Elasticsearch or OpenSearch instead of files")
    .option("--index <names>", "its indices, like 'logstash-*'")
    .option("--query <query>", "which of their documents, in Lucene's query language")
    .option(
      "--since <time>",
      "from this @timestamp on: an RFC 3339 time, or 30d; else from the first, or where it was stopped",
    )
    .option("--until <time>", "and before this one")
    .option("--dry-run", "count what a replay would accept and reject, and change nothing", false)
    .option("--keep-going", "also when none of the first 10,000 records is accepted", false)
    .option("--yes", "also when a source looks like the sensor's own address", false)
    .action(async (files: string[], options: ReplayOptions) => runReplay(files, options, await createContext()));
};

/** After this many rejected records without an accepted one, something is wrong with all of them. */
const MAX_REJECTED = 10_000;
/** What a pipe has is stored within this time. */
const MAX_WAIT_MS = 1_000;

/** `noisefloor replay`: stores log files, through Kafka when brokers are configured, else directly. */
export async function runReplay(
  paths: readonly string[],
  options: ReplayOptions,
  context: CommandContext,
): Promise<void> {
  // Read it before the input: an immediate end by Ctrl-C would leave the temporary copy of standard input behind.
  const { signal } = context;
  assertInput(paths, options);
  const { formats: known, decode: decodeOptions } = readSensorFormats(context.settings);
  const formats = formatsCalled(options.format, known);
  const decode = { ...decodeOptions, sensorId: readSensor(options.sensor), ...readTimes(options) };
  const shiftTo = readShiftTo(options.shiftTo);
  const reading = { formats, decode };
  const input =
    options.elasticsearch === undefined
      ? await openFiles(paths, reading, shiftTo !== undefined, context)
      : await openDocuments(options, context);
  const closeStack = createCloseStack();
  closeStack.add(input.dispose);
  try {
    const isConfirmed = options.dryRun === true || options.yes === true;
    await confirmSources(input.first, reading, { yes: isConfirmed }, context);
    const { store, verb, batches } = await openReplay(options, context, closeStack);
    const shiftMs = shiftTo === undefined ? 0 : await measureShift(input.first, reading, shiftTo, context);
    if (shiftTo !== undefined && options.json !== true) {
      context.print(`All times move by the same: the newest becomes ${formatTime(shiftTo)}.`);
    }
    const summary = startSummary(Date.now());
    try {
      const { rate, keepGoing } = options;
      const onFlow = input.isLive ? warnOfOwnAddresses(context.log) : undefined;
      await replayParts(input, { formats, decode: { ...decode, onFlow }, shiftMs }, verb, {
        ...batches,
        ...{ summary, rate, stop: signal },
        stopAfterRejected: keepGoing ? undefined : MAX_REJECTED,
      });
      finish(summary, verb, options, shiftTo, input.skipped(), context);
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      const { print } = context;
      if (options.json === true) print(JSON.stringify(toJson(summary, options, shiftTo, input.skipped(), false)));
      else printSummary(summary, verb, print);
      const reason = await explainLoss(store.server, error);
      throw new UserError(`the replay ended early: ${reason instanceof Error ? reason.message : String(reason)}`);
    }
  } finally {
    await closeStack.closeAll();
  }
}

async function replayParts(
  { parts, openProgress, isLive }: ReplayInput,
  reading: ReadRecordsOptions,
  verb: string,
  options: Parameters<typeof replay>[1] & { readonly summary: ReplaySummary },
): Promise<void> {
  const progress = openProgress();
  const onProgress = ({ accepted, rejected }: ReplaySummary) =>
    progress.note(`${accepted} ${verb}, ${rejected} rejected`);
  const maxWaitMs = isLive ? MAX_WAIT_MS : undefined;
  try {
    for await (const { files, onStored } of parts(progress.advance)) {
      const records = readRecords(files, { ...reading, onBytes: progress.advance });
      await replay(records, { ...options, maxWaitMs, onProgress });
      if (options.stop?.aborted || options.summary.isHopeless) return;
      await onStored();
    }
  } finally {
    progress.end();
  }
}

/** Opens the store, the target of accepted records, and the table of dead letters. */
async function openReplay({ dryRun }: ReplayOptions, context: CommandContext, closeStack: CloseStack) {
  const { settings, signal } = context;
  const store = await openPreparedStore(settings, dryRun ? undefined : asCommand(context, signal));
  closeStack.add(store.close);
  const source = await openFileSource(store, context, closeStack, { name: "file", dryRun });
  const batches = {
    ...source,
    right: "everything",
    storeDeadLetters: (rejected: readonly RejectedRecord<ReplayRecord>[]) =>
      source.deadLetters(rejected.map(fileDeadLetter)),
  } as const;
  return { store, verb: source.verb, batches };
}

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
