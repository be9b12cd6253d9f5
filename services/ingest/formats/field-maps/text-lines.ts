import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import type { Fields } from "../fields.ts";
import { QUOTE_NOT_CLOSED, readCsvLine } from "../text/csv.ts";
import { unescapeText } from "../text/unescape.ts";
import { compilePattern, MAX_LINE_LENGTH, type Pattern } from "./patterns.ts";
import { LINE } from "./read.ts";
import type { FieldMap } from "./schema.ts";

/** What a line holds: its fields by their names, or why they cannot be told. */
export type ReadLine = { readonly fields: Fields } | { readonly rejection: Rejection } | "header";

export type LineReader = {
  /** Whether the line has the shape of the map's lines. */
  readonly fits: (line: string) => boolean;
  /** Begins a stream: a header holds for the lines after it. */
  readonly open: () => (line: string) => ReadLine;
};

/** Reads the text lines of a field map; undefined for a map of JSON. */
export function lineReader(map: FieldMap): LineReader | undefined {
  if (map.pattern !== undefined) return patternReader(map, [map.pattern].flat());
  return map.csv && csvReader(map, map.csv);
}

function patternReader({ name, escaped }: FieldMap, sources: readonly string[]): LineReader {
  const patterns = sources.map(compilePattern).filter((pattern): pattern is Pattern => typeof pattern !== "string");
  let last: { readonly line: string; readonly fields: Fields | undefined } | undefined;
  const match = (line: string): Fields | undefined => {
    // A line is first recognised and then decoded.
    if (last?.line === line) return last.fields;
    let found: Fields | undefined;
    for (const pattern of patterns) {
      found = pattern.match(line);
      if (found !== undefined) break;
    }
    const fields = found && { ...(escaped ? withoutEscapes(found) : found), [LINE]: line };
    last = { line, fields };
    return fields;
  };
  const read = (line: string): ReadLine => {
    if (line.length > MAX_LINE_LENGTH) {
      const detail = `the line has ${line.length} characters, patterns of field maps read at most ${MAX_LINE_LENGTH}`;
      return { rejection: { reason: "oversize", detail } };
    }
    const fields = match(line);
    return fields === undefined ? { rejection: unknown(explainNoMatch(name, sources)) } : { fields };
  };
  return { fits: (line) => line.length <= MAX_LINE_LENGTH && match(line) !== undefined, open: () => read };
}

const withoutEscapes = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [name, typeof text === "string" ? unescapeText(text) : text]),
  );

const SHOWN_LENGTH = 120;

function explainNoMatch(name: string, [first = "", ...others]: readonly string[]): string {
  const shown = first.length > SHOWN_LENGTH ? `${first.slice(0, SHOWN_LENGTH)}…` : first;
  return others.length === 0
    ? `the line does not match the pattern of the field map ${name}: ${shown}`
    : `the line matches none of the ${others.length + 1} patterns of the field map ${name}; the first is ${shown}`;
}

const unknown = (detail: string): Rejection => ({ reason: "unknown-format", detail });

/** The columns that make a line a header. Text that a source chooses, beside a time or an address, is never a header. */
const COLUMN_NAME = /^[A-Za-z_@#][\w .@#:/()-]{0,63}$/;

function csvReader({ name, fields }: FieldMap, { columns, delimiter }: NonNullable<FieldMap["csv"]>): LineReader {
  const sources = [fields.source_ip ?? []].flat();
  const times = [fields.observed_at ?? []].flat();
  const isHeader = (row: readonly string[]) =>
    sources.some((source) => row.includes(source)) &&
    (times.length === 0 || times.some((time) => row.includes(time))) &&
    row.every((column) => COLUMN_NAME.test(column));
  const read = (line: string) => readCsvLine(line, delimiter);
  return {
    fits(line) {
      const row = read(line);
      return row !== undefined && (row.length === columns?.length || isHeader(row));
    },
    open() {
      let names = columns;
      return (line) => {
        const row = read(line);
        if (row === undefined) return { rejection: QUOTE_NOT_CLOSED };
        if (isHeader(row)) {
          names = [...row];
          return "header";
        }
        if (names === undefined) {
          return {
            rejection: unknown(
              `no header with the columns' names came before the line; the field map ${name} can name them`,
            ),
          };
        }
        if (row.length !== names.length) {
          const detail = `the line has ${row.length} columns, the field map ${name} expects ${names.length}: ${names.join(delimiter)}`;
          return { rejection: unknown(detail) };
        }
        return { fields: { ...Object.fromEntries(names.map((column, index) => [column, row[index]])), [LINE]: line } };
      };
    },
  };
}
