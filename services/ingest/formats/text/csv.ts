import { parse } from "csv-parse/sync";
import { z } from "zod";

/** A header or a line has no more columns than these, and no line is longer whose fields are in quotes. */
const MAX_COLUMNS = 100;
const MAX_QUOTED_LENGTH = 4096;

/** A line's fields. Only a line with quotes needs the parser, which is much slower than a split. */
export function readCsvLine(line: string, delimiter = ","): readonly string[] {
  if (!line.includes('"') || line.length > MAX_QUOTED_LENGTH) return line.split(delimiter, MAX_COLUMNS);
  try {
    const [fields = []] = z.array(z.array(z.string())).parse(parse(line, { relax_quotes: true, delimiter }));
    return fields;
  } catch {
    // A quote that is not closed: validation rejects the fields for what they are.
    return line.split(delimiter, MAX_COLUMNS);
  }
}
