import { isSensorId } from "@noisefloor/domain/observation/schema.ts";
import { isTimeZone, timeZone } from "@noisefloor/domain/time/zone.ts";
import { AUTO, findFormats } from "@noisefloor/ingest/formats/all.ts";
import type { DecodeOptions, LogFormat } from "@noisefloor/ingest/formats/format.ts";
import { InvalidArgumentError } from "commander";
import { UserError } from "../framework/command.ts";

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
  /** The URL of an Elasticsearch or OpenSearch, whose documents are read in the place of files. */
  readonly elasticsearch?: string | undefined;
  /** Its indices. */
  readonly index?: string | undefined;
  /** Which of their documents, in Lucene's query language. */
  readonly query?: string | undefined;
  /** From which time on: RFC 3339, or as 30d. */
  readonly since?: string | undefined;
  /** Before which time. */
  readonly until?: string | undefined;
  readonly json?: boolean;
};

/** @throws UserError for options that do not go together. */
export function assertInput(
  paths: readonly string[],
  { elasticsearch, index, query, since, until, shiftTo }: ReplayOptions,
): void {
  if (elasticsearch === undefined) {
    if (paths.length === 0) throw new UserError('name files, folders or "-", or an --elasticsearch');
    if ([index, query, since, until].some((option) => option !== undefined)) {
      throw new UserError("--index, --query, --since and --until go with --elasticsearch");
    }
    return;
  }
  if (paths.length > 0) throw new UserError("either files or --elasticsearch");
  if (index === undefined) throw new UserError("--elasticsearch takes an --index, like 'logstash-*'");
  // The newest time of an index that grows is another one each time that the replay goes on.
  if (shiftTo !== undefined) throw new UserError("--shift-to goes with files alone");
}

/** @throws UserError that lists the formats, for a name that none has. */
export function formatsCalled(name: string, known: readonly LogFormat[]): readonly LogFormat[] {
  const formats = findFormats(name, known);
  if (formats !== undefined) return formats;
  const all = known.map((candidate) => `  ${candidate.name}: ${candidate.description}`).join("\n");
  throw new UserError(
    `there is no log format "${name}"; there are\n  ${AUTO}: any of these, recognised record by record\n${all}`,
  );
}

/** @throws UserError for what no sensor may be called. */
export function readSensor(id: string | undefined): string | undefined {
  if (id === undefined || isSensorId(id)) return id;
  throw new UserError("--sensor takes a name of at most 128 characters");
}

/** A value of `--year`. */
export function readYear(text: string): number {
  const year = /^\d{4}$/.test(text) ? Number(text) : 0;
  if (year < 1_970) throw new InvalidArgumentError("It takes a year like 2026.");
  return year;
}

/** What the command line says of times without a zone or a year. */
export function readTimes({ timeZone: name, year }: ReplayOptions): Pick<DecodeOptions, "timeZoneOf" | "latestTime"> {
  if (name !== undefined && !isTimeZone(name)) throw new UserError(`--time-zone: there is no zone "${name}"`);
  const zone = name === undefined ? undefined : timeZone(name);
  return {
    ...(zone !== undefined && { timeZoneOf: () => zone }),
    ...(year !== undefined && { latestTime: Date.UTC(year + 1, 0, 1) - 1 }),
  };
}

/** @returns milliseconds since 1970 UTC. */
export function readShiftTo(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (text === "now") return Date.now();
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(time))
    throw new UserError(`--shift-to takes "now" or a time like 2026-11-20T14:00:00Z, not "${text}"`);
  return time;
}
