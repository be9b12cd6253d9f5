import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { explainRejection } from "@noisefloor/ingest/formats/explain-rejection.ts";
import { fieldMapFormat } from "@noisefloor/ingest/formats/field-maps/format.ts";
import { readFieldMap } from "@noisefloor/ingest/formats/field-maps/read.ts";
import type { DecodeOptions, LogFormat } from "@noisefloor/ingest/formats/format.ts";
import { observationsFormat } from "@noisefloor/ingest/formats/observations.ts";
import { validateBatch } from "@noisefloor/ingest/pipeline/validate.ts";
import { type LogFile, readFile } from "@noisefloor/ingest/sources/file/log-files.ts";
import { openLogFiles } from "@noisefloor/ingest/sources/file/open-files.ts";
import { type ReplayRecord, readRecords } from "@noisefloor/ingest/sources/file/records.ts";
import { readFormats, readSensorFormats } from "../formats.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { readInput } from "../framework/input.ts";
import { type OutputOptions, printable, show } from "../framework/output.ts";
import { positiveInteger } from "../framework/positive-integer.ts";

const TEST_HELP = `
Without a file it checks the map alone. Every record counts as the map's, as with replay --format NAME; "auto" tells as
what each would be read among all formats. Nothing is stored, and the age of records does not matter.`;

export const define: DefineCommand = (formats, createContext) => {
  formats
    .command("list")
    .description("list the log formats: built in, field maps that come along, those of FIELD_MAPS")
    .action(async (options: OutputOptions) => {
      const context = await createContext();
      const sources = readFormats(context.settings.sensorLogs.fieldMaps);
      show(
        sources.map(({ format: { name, description }, origin }) => ({ name, origin, description })),
        options,
        context,
      );
    });
  formats
    .command("test")
    .description("check a field map and read records with it; exit code 1 when one is rejected or none is accepted")
    .argument("<map>", "the field map, a YAML file")
    .argument("[file...]", "files of records, as the sensor writes them")
    .option("--limit <n>", "how many records are shown; all are counted", positiveInteger, 20)
    .addHelpText("after", TEST_HELP)
    .action(async (map: string, files: string[], options: TestOptions) =>
      runFormatsTest(map, files, options, await createContext()),
    );
};

type TestOptions = OutputOptions & { readonly limit: number };

/** What became of a record. */
type Outcome = {
  readonly record: string;
  readonly outcome: string;
  /** The observation, or the reason why the record was ignored or rejected. */
  readonly result: unknown;
};

/** `noisefloor formats test`. @throws UserError when the map has an error, or does not read the records. */
export async function runFormatsTest(
  path: string,
  paths: readonly string[],
  { json, limit }: TestOptions,
  context: CommandContext,
): Promise<void> {
  const { print } = context;
  const read = readFieldMap(await readMap(path, context));
  if ("problems" in read) {
    if (json) print(JSON.stringify({ problems: read.problems }));
    else for (const problem of read.problems) print(printable(problem));
    throw new UserError(`the field map has ${read.problems.length} errors, listed above`);
  }
  const format = fieldMapFormat(read.map);
  if (paths.length === 0) {
    print(json ? JSON.stringify({ problems: [] }) : `The field map ${format.name} has no errors.`);
    return;
  }
  const { formats, decode } = readSensorFormats(context.settings);
  const { files, dispose } = await openLogFiles(paths, context.stdin, {
    reading: { formats: [format, ...formats], decode },
    onSkipped: (file) => context.log.warn(file, "file skipped"),
  }).catch((error: unknown) => {
    throw new UserError(`cannot read the input: ${error instanceof Error ? error.message : String(error)}`);
  });
  try {
    const { counts, shown } = await readWith(format, files, decode, limit);
    const otherFormats = formats.filter(({ name }) => name !== format.name);
    const auto = await countFormats([format, ...otherFormats], files, decode);
    if (json) print(JSON.stringify({ problems: [], ...counts, auto, records: shown }));
    else printOutcomes(shown, { ...counts, auto: formatCounts(auto) }, context);
    if (counts.rejected > 0) throw new UserError(`${counts.rejected} of ${counts.read} records were rejected`);
    if (counts.accepted === 0) throw new UserError("no record became an observation");
  } finally {
    await dispose();
  }
}

async function readMap(path: string, context: CommandContext): Promise<string> {
  try {
    return await readInput(path, context);
  } catch (error) {
    throw new UserError(`cannot read the field map: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function readWith(format: LogFormat, files: readonly LogFile[], decode: DecodeOptions, limit: number) {
  const counts = { read: 0, accepted: 0, ignored: 0, rejected: 0 };
  const shown: Outcome[] = [];
  for await (const record of readRecords(files, { formats: [format], decode, shiftMs: 0 })) {
    const { result, ...outcome } = await outcomeOf(record);
    counts.read++;
    counts[outcome.kind]++;
    const label = files.length > 1 ? `${record.origin}:${record.position}` : String(record.position);
    if (shown.length < limit) shown.push({ record: label, outcome: outcome.outcome, result });
  }
  return { counts, shown };
}

type RecordResult = {
  readonly kind: "accepted" | "ignored" | "rejected";
  readonly outcome: string;
  readonly result: unknown;
};

async function outcomeOf(record: ReplayRecord): Promise<RecordResult> {
  if (record.ignored !== undefined) return { kind: "ignored", outcome: "ignored", result: record.ignored };
  const { accepted, rejected } = await validateBatch([record], {
    catalogue: NO_TAGS,
    retentionDays: () => ANY_AGE_DAYS,
    right: "everything",
    explain: explainRejection,
    now: Date.now,
  });
  const [refused] = rejected;
  if (refused === undefined) return { kind: "accepted", outcome: "observation", result: accepted[0]?.record.value };
  return { kind: "rejected", outcome: refused.rejection.reason, result: refused.rejection.detail };
}

/** Records of field maps name no tags. */
const NO_TAGS: TagCatalogue = {
  all: () => [],
  byId: () => undefined,
  resolve: () => undefined,
  refresh: () => Promise.resolve(),
  ageSeconds: () => 0,
  stop: () => {},
};
const ANY_AGE_DAYS = 36_500;

const NONE = "none";

/** How many records each format reads, as `auto` chooses them. */
async function countFormats(formats: readonly LogFormat[], files: readonly LogFile[], decode: DecodeOptions) {
  const counts = new Map<string, number>();
  for (const file of files) {
    for await (const { format = observationsFormat.name, rejection } of readFile(file, { formats, decode })) {
      const reader = rejection === undefined ? format : NONE;
      counts.set(reader, (counts.get(reader) ?? 0) + 1);
    }
  }
  return Object.fromEntries(counts);
}

const formatCounts = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([format, records]) => (format === NONE ? `${records} by no format` : `${records} as ${format}`))
    .join(", ");

function printOutcomes(
  shown: readonly Outcome[],
  counts: Readonly<Record<string, number | string>>,
  context: CommandContext,
): void {
  const rows = shown.map(({ result, ...row }) => ({
    ...row,
    result: typeof result === "string" ? result : JSON.stringify(result),
  }));
  if (rows.length > 0) show(rows, { json: false }, context);
  context.print();
  for (const [name, count] of Object.entries(counts)) context.print(printable(`${name.padEnd(8)}  ${count}`));
}
