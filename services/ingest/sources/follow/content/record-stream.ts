import { openDecoder } from "../../../formats/decoder.ts";
import type { DecodeOptions, LogFormat } from "../../../formats/format.ts";
import { countIgnored, type IgnoredCounts } from "../../../formats/ignored.ts";
import { lacksId, openIdentities } from "../../file/identify.ts";
import type { ReplayRecord } from "../../file/records.ts";

/** What some records of a file became. */
export type DecodedRecords = {
  readonly records: readonly ReplayRecord[];
  readonly ignored: IgnoredCounts;
  /** Some have no time of their own: they count as of the time that was given. */
  readonly lacksTimes: boolean;
  /** Some were counted among equal ones. */
  readonly lacksIds: boolean;
  /** No format knows any of them. */
  readonly isUnknown: boolean;
  /** The last header: the index of its first line, and its lines. Undefined without a header. */
  readonly header: { readonly index: number; readonly lines: readonly Buffer[] } | undefined;
};

export type RecordStreamOptions = {
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
  /** The path of the file, for dead letters. */
  readonly origin: () => string;
};

/** Decodes the records of one content in their order. */
export type RecordStream = {
  /** @param position the number of records before these. @param at the time of records that have none. */
  decode(records: readonly Buffer[], position: number, at: number): DecodedRecords;
};

export function openRecordStream({ formats, decode: options, origin }: RecordStreamOptions): RecordStream {
  let time = 0;
  let lacksTimes = false;
  const now = () => {
    lacksTimes = true;
    return time;
  };
  const decode = openDecoder(formats, { ...options, now });
  const identify = openIdentities();
  let wasHeader = false;
  return {
    decode(pieces, position, at) {
      time = at;
      lacksTimes = false;
      const ignored = countIgnored();
      const records: ReplayRecord[] = [];
      let lacksIds = false;
      let isUnknown = pieces.length > 0;
      let header: { index: number; lines: Buffer[] } | undefined;
      for (const [index, bytes] of pieces.entries()) {
        for (const record of decode(bytes)) {
          const isHeader = record.ignored === "header";
          if (isHeader && !wasHeader) header = { index, lines: [] };
          if (isHeader) header?.lines.push(bytes);
          wasHeader = isHeader;
          isUnknown &&= record.rejection?.reason === "unknown-format" || record.rejection?.reason === "not-json";
          if (ignored.add(record)) continue;
          lacksIds ||= lacksId(record);
          const common = { origin: origin(), position: position + index + 1, fallbackId: "" };
          records.push({ ...record, ...common, ...identify(record) });
        }
      }
      return { records, ignored: ignored.counts, lacksTimes, lacksIds, isUnknown, header };
    },
  };
}
