import type { Fields } from "../../../fields.ts";
import type { Decoded, DecodeOptions } from "../../../format.ts";

/** More than any log has. A header of a million columns would be compared with each line after it. */
const MAX_COLUMNS = 500;

type Column = { readonly name: string; readonly isList: boolean };

/**
 * Begins a stream of tab-separated logs. A header names the columns of the lines after it, until another one comes; a
 * line without one is rejected.
 */
export function openTsv(decode: (record: Fields, options: DecodeOptions) => Decoded) {
  let names: readonly string[] = [];
  let columns: readonly Column[] = [];
  let path: string | undefined;
  let separator = "\t";
  let setSeparator = ",";
  let empty = "(empty)";
  let unset = "-";
  return (line: string, options: DecodeOptions): Decoded => {
    if (line.startsWith("#")) {
      const [name, ...values] = line.split(line.startsWith("#separator") ? " " : separator, MAX_COLUMNS);
      const [value = ""] = values;
      if (name === "#separator") separator = readEscapes(value) || "\t";
      if (name === "#set_separator") setSeparator = value || ",";
      if (name === "#empty_field") empty = value;
      if (name === "#unset_field") unset = value;
      if (name === "#path") path = value;
      if (name === "#fields") {
        names = values;
        columns = names.map((column) => ({ name: column, isList: false }));
      }
      if (name === "#types") {
        columns = names.map((column, index) => ({
          name: column,
          isList: /^(?:set|vector)\[/.test(values[index] ?? ""),
        }));
      }
      return { ignored: "header" };
    }
    if (columns.length === 0) {
      return {
        rejection: {
          reason: "unknown-format",
          detail:
            "the line comes without the #fields header that names its columns: send the log from its beginning, or let " +
            "Zeek write JSON (policy/tuning/json-logs)",
        },
      };
    }
    const values = line.split(separator, MAX_COLUMNS);
    const record: Record<string, unknown> = path === undefined ? {} : { _path: path };
    for (const [index, { name, isList }] of columns.entries()) {
      const value = values[index];
      if (value === undefined || value === unset || value === empty) continue;
      record[name] = isList ? value.split(setSeparator).map(readEscapes) : readEscapes(value);
    }
    return decode(record, options);
  };
}

/** Zeek writes bytes that would break a line as `\x09`. */
function readEscapes(text: string): string {
  if (!text.includes("\\x")) return text;
  return text.replaceAll(/(?:\\x[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll(/\\x/gi, ""), "hex").toString("utf8"),
  );
}
