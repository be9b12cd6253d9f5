import { LOG_FORMATS } from "./all.ts";
import type { Fields } from "./fields.ts";
import type { LogFormat } from "./format.ts";

/**
 * The format that a record is in, when that is another than the one that its sender named: read as that one, it would be
 * ignored without a trace, or taken for something else. A format looks for its own marks first, and what no format
 * recognises is left to the named one. Field maps read what they are told to.
 */
export function formatInstead(named: LogFormat, record: Fields): LogFormat | undefined {
  if (!LOG_FORMATS.includes(named) || named.json?.recognizes(record)) return undefined;
  return LOG_FORMATS.find((format) => format !== named && format.json?.recognizes(record));
}
