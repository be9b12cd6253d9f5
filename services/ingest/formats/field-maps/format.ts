import { toObservation } from "../draft.ts";
import type { Fields } from "../fields.ts";
import type { Decoded, DecodeOptions, IgnoredReason, LogFormat } from "../format.ts";
import { type Conditions, compileConditions, formatConditions } from "./conditions.ts";
import { draftReader } from "./draft.ts";
import { LINE } from "./read.ts";
import type { FieldMap } from "./schema.ts";
import { type LineReader, lineReader } from "./text-lines.ts";

/** The format that a field map describes. */
export function fieldMapFormat(map: FieldMap): LogFormat {
  const { name, description, recognize } = map;
  const reader = lineReader(map);
  const decode = recordDecoder(map);
  const recognizes = holds(recognize);
  if (reader !== undefined) return { name, description, text: textOf(map, reader, recognizes, decode) };
  const signs = formatConditions(recognize) || [map.fields.source_ip ?? []].flat().join(" or ");
  const hasSigns = Object.keys(recognize).length > 0;
  return { name, description, json: { signs, recognizes: (record) => hasSigns && recognizes(record), decode } };
}

type DecodeRecord = (record: Fields, options: DecodeOptions) => Decoded;

function textOf(
  { csv, recognize }: FieldMap,
  reader: LineReader,
  recognizes: (record: Fields) => boolean,
  decode: DecodeRecord,
): NonNullable<LogFormat["text"]> {
  // Any line has some number of columns; a pattern is a sign of its own.
  const needsSigns = csv !== undefined && Object.keys(recognize).length === 0;
  return {
    recognizes(line) {
      if (!reader.fits(line)) return false;
      const read = reader.open()(line);
      return read === "header" || ("fields" in read && !needsSigns && recognizes(read.fields));
    },
    open() {
      const readLine = reader.open();
      return (line, options) => {
        const read = readLine(line);
        if (read === "header") return { ignored: "header" };
        if ("fields" in read) return decode(read.fields, options);
        // Only conditions on the whole line can hold for one that cannot be read.
        const decoded = decode({ [LINE]: line }, options);
        return "ignored" in decoded ? decoded : read;
      };
    },
  };
}

function recordDecoder(map: FieldMap): DecodeRecord {
  const toDraft = draftReader(map);
  const ignored = map.ignore.map(({ reason, when }) => ({ reason, holds: holds(when) }));
  const isText = map.pattern !== undefined || map.csv !== undefined;
  return (record, options) => {
    const reason = ignored.find((entry) => entry.holds(record) && applies(entry.reason, options))?.reason;
    if (reason !== undefined) return { ignored: reason };
    const draft = toDraft(record, options.now());
    // Lines that differ in what no field names are different records.
    const decoded = toObservation(
      isText && draft.key === undefined ? { ...draft, key: [record[LINE]] } : draft,
      options,
    );
    const source = "observation" in decoded ? decoded.observation.source_ip : undefined;
    return typeof source === "string" && options.isOwnAddress(source) ? { ignored: "own-traffic" } : decoded;
  };
}

/** A setting counts the visitors that a packet filter let in. */
const applies = (reason: IgnoredReason, { countsAccepted }: DecodeOptions) =>
  reason !== "accepted-visit" || !countsAccepted;

function holds(conditions: Conditions): (record: Fields) => boolean {
  const compiled = compileConditions(conditions);
  // A map with a bad pattern is not read.
  return typeof compiled === "function" ? compiled : () => false;
}
