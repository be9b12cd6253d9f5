import { formatIssue } from "@noisefloor/domain/observation/format-issue.ts";
import { observationSchema } from "@noisefloor/domain/observation/schema.ts";
import { openDecoder } from "@noisefloor/ingest/formats/decoder.ts";
import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import type { HeldClause, MissingClause } from "@noisefloor/ingest/tagging/explain.ts";
import type { Taggable } from "@noisefloor/ingest/tagging/matching/fields.ts";
import { traceRule } from "@noisefloor/ingest/tagging/trace.ts";
import { readSensorFormats } from "../../formats.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { readInput } from "../../framework/input.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";
import { lintRules } from "./rule-folders.ts";
import { findRule, formatList, showTrace } from "./show-trace.ts";

export type ExplainOptions = OutputOptions & {
  /** Also the rules beyond the first {@link MAX_SHOWN} that lack one clause. */
  readonly all: boolean;
  /** The slug of the one rule whose clauses are shown, each with what it found. */
  readonly tag?: string | undefined;
};

const MAX_SHOWN = 10;

/** `noisefloor tags explain`. @param event JSON, the path of a file, or `-`. */
export async function runTagsExplain(event: string, options: ExplainOptions, context: CommandContext): Promise<void> {
  const { observation, format } = await readObservation(event, context);
  const { tags, problems } = await lintRules([], context);
  const broken = new Set(problems.filter(({ severity }) => severity === "error").map(({ file }) => file));
  for (const file of broken)
    context.log.warn({ file }, 'a file has errors and is left out, see "noisefloor tags lint"');
  if (options.tag !== undefined) {
    if (format !== undefined && !options.json) context.print(`Read in the format ${format}.`);
    showTrace(options.tag, traceRule(findRule(options.tag, tags).match, observation), options, context);
    return;
  }
  const explanation = createTagger(tags.flatMap(({ rule }) => rule ?? [])).explain(observation);
  const { print } = context;
  if (options.json) {
    print(JSON.stringify(explanation));
    return;
  }
  const { matched, almost } = explanation;
  if (format !== undefined) print(`Read in the format ${format}.`);
  print(matched.length === 0 ? "No rule matches." : `Rules that match: ${matched.length}`);
  for (const { slug, clauses } of matched) {
    print(`  ${slug}`);
    for (const clause of clauses) print(`    holds    ${formatHeld(clause)}`);
  }
  const shown = options.all ? almost : almost.slice(0, MAX_SHOWN);
  if (shown.length > 0) print(`Rules that lack one clause: ${almost.length}`);
  for (const { slug, missing, clauses } of shown) {
    print(`  ${slug}`);
    print(`    missing  ${formatMissing(missing)}`);
    for (const clause of clauses) print(`    holds    ${formatHeld(clause)}`);
  }
  if (shown.length < almost.length) print(`  and ${almost.length - shown.length} more; --all shows them`);
}

/** All members may be missing: one asks about a path as often as about a whole observation. */
const eventSchema = observationSchema.partial();

/** The observation, and the format of the sensor whose record it was. */
type ReadEvent = { readonly observation: Taggable; readonly format?: string | undefined };

async function readObservation(event: string, context: CommandContext): Promise<ReadEvent> {
  const sent = await readJson(event, context);
  const { value, format } = decodeRecord(sent, context);
  const parsed = eventSchema.safeParse(value, { error: formatIssue });
  if (parsed.success) return { observation: parsed.data, format };
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the observation"}: ${message}`);
  throw new UserError(`${issues.join("; ")}. "noisefloor schema" prints what an observation has`);
}

/** Decodes a sensor's record. A record that no format recognises is read as an observation, or a part of one. */
function decodeRecord(sent: unknown, { settings }: CommandContext): { value: unknown; format?: string | undefined } {
  const { formats, decode } = readSensorFormats(settings);
  const [record] = openDecoder(formats, decode)(Buffer.from(JSON.stringify(sent)));
  if (record?.ignored !== undefined) {
    throw new UserError(`the record is in the format ${record.format} and gives no observation: ${record.ignored}`);
  }
  return record?.format === undefined ? { value: sent } : { value: record.value, format: record.format };
}

async function readJson(event: string, context: CommandContext): Promise<unknown> {
  try {
    if (event.trimStart().startsWith("{")) return JSON.parse(event);
    return JSON.parse(await readInput(event, context));
  } catch (error) {
    throw new UserError(`cannot read the observation: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function formatHeld({ key, values, found }: HeldClause): string {
  return printable(`${key}: ${formatList(values)}${found.length === 0 ? "" : `, in ${formatList(found)}`}`);
}

function formatMissing({ key, values, found, isExcluded }: MissingClause): string {
  const has = found.length === 0 ? "the observation has none" : `the observation has ${formatList(found)}`;
  return printable(isExcluded ? `not ${key}: ${formatList(values)}; ${has}` : `${key}: ${formatList(values)}; ${has}`);
}
