import { parse } from "csv-parse/sync";
import { z } from "zod";

/** A header or a line has no more columns than these, and no line is longer whose fields are in quotes. */
const MAX_COLUMNS = 100;
const MAX_QUOTED_LENGTH = 4096;

/** The rejection of a line that {@link readCsvLine} cannot read. */
export const QUOTE_NOT_CLOSED = {
  reason: "unknown-format",
  detail: "a quote is not closed on the line: it was torn, or a field goes on in the next line, which is not read",
} as const;

/**
 * A line's fields; undefined when a quote is not closed. Only a line with quotes needs the parser, which is much slower
 * than a split.
 */
export function readCsvLine(line: string, delimiter = ","): readonly string[] | undefined {
  if (!line.includes('"') || line.length > MAX_QUOTED_LENGTH) return line.split(delimiter, MAX_COLUMNS);
  try {
    const [fields = []] = z.array(z.array(z.string())).parse(parse(line, { relax_quotes: true, delimiter }));
    return fields;
  } catch {
    return undefined;
  }
}
