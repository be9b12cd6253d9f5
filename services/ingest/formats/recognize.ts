import { LOG_FORMATS } from "./all.ts";
import { type Fields, isFields } from "./fields.ts";
import type { LogFormat } from "./format.ts";

/**
 * What to tell the sender of a record that is in another format than the one named; undefined for any other record.
 * Read in the named format, it would be ignored without a trace, or taken for something else.
 */
export function explainOtherFormat(named: LogFormat, record: unknown): string | undefined {
  const other = isFields(record) ? formatInstead(named, record) : undefined;
  return other && `the record is in the format ${other.name}, not in ${named.name}: name that format, or auto`;
}

/**
 * What the named format recognises, and what none does, is left to the named one. Field maps read every record.
 */
function formatInstead(named: LogFormat, record: Fields): LogFormat | undefined {
  if (!LOG_FORMATS.includes(named) || named.json?.recognizes(record)) return undefined;
  return LOG_FORMATS.find((format) => format !== named && format.json?.recognizes(record));
}
