import { LOG_FORMATS } from "./all.ts";
import { type Fields, isFields } from "./fields.ts";
import type { LogFormat } from "./format.ts";

/** The format of a record: one that recognises it, else one whose records it resembles. */
export function recognize(formats: readonly LogFormat[], record: Fields): LogFormat | undefined {
  return (
    formats.find(({ json }) => json?.recognizes(record)) ??
    formats.find(({ json }) => json?.resembles?.(record) === true)
  );
}

/**
 * The detail for the sender of a record that is in another format than the one named; undefined for any other record.
 * Read in the named format, it would be ignored without a trace, or taken for something else. Field maps read every
 * record, so there is no other format for them.
 */
export function explainOtherFormat(named: LogFormat, record: unknown): string | undefined {
  if (!isFields(record) || !LOG_FORMATS.includes(named) || recognize([named], record) !== undefined) return undefined;
  const other = recognize(LOG_FORMATS, record);
  return other && `the record is in the format ${other.name}, not in ${named.name}: name that format, or auto`;
}
