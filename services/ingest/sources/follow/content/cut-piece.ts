import { type CutState, createCutState, cutting } from "../../../formats/json/cut.ts";
import { withoutByteOrderMark } from "../../../formats/json/split.ts";
import type { Content } from "./content.ts";

/** Some whole records of a content, one after the other. */
export type Piece = {
  /** Where it begins and ends. */
  readonly from: number;
  readonly to: number;
  readonly records: readonly Buffer[];
  /** Where a record begins. */
  readonly startOf: (index: number) => number;
  /** How the cutting goes on after it. */
  readonly cut: CutFlags;
};

/** What the cutting of a stream has to know of what was before. */
export type CutFlags = Pick<CutState, "isInArray" | "isClosing" | "isDropping">;

export type CutOptions = {
  readonly from: number;
  readonly cut: CutFlags;
  /** About how many bytes. A record that is larger is read whole. */
  readonly bytes: number;
  /** No more bytes follow: what is left is a record, too. */
  readonly isEnd?: boolean;
  /** Whether a record ends with the last of these bytes. */
  readonly isExact?: boolean;
};

/** Max records of a piece: fewer than the intake takes in one request. */
const MAX_RECORDS = 20_000;
/** More bytes than the largest record has. */
const MAX_PIECE_BYTES = 6 * 1024 * 1024;

/** Reads and cuts the records from a position on. @returns undefined when none ends before the content does. */
export async function cutPiece(content: Content, options: CutOptions): Promise<Piece | undefined> {
  const { from } = options;
  for (let wanted = options.bytes; ; wanted *= 2) {
    const read = await content.read(from, wanted);
    if (read.length === 0) return undefined;
    const isCut = read.length === wanted;
    const bytes = from === 0 ? withoutByteOrderMark(read) : read;
    const base = from + read.length - bytes.length;
    const state: CutState = { ...createCutState(), ...options.cut };
    const records: Buffer[] = [];
    const isLast = options.isExact || (options.isEnd && !isCut);
    const cuts = cutting(bytes, state, isLast === true, (record) => records.push(record) < MAX_RECORDS);
    let step = cuts.next();
    while (!step.done) step = cuts.next();
    if (step.value === 0 && isCut && wanted < MAX_PIECE_BYTES) continue;
    if (step.value === 0) return undefined;
    return {
      from,
      to: base + step.value,
      records,
      startOf: (index) => base + (records[index]?.byteOffset ?? bytes.byteOffset) - bytes.byteOffset,
      cut: { isInArray: state.isInArray, isClosing: state.isClosing, isDropping: state.isDropping },
    };
  }
}

/** Whether the bytes after a position, up to the end, are a whole JSON object: no half of one is. */
export async function endsWithObject(content: Content, from: number): Promise<boolean> {
  const bytes = await content.read(from, MAX_PIECE_BYTES);
  const text = bytes.toString("utf8").trim();
  if (!text.startsWith("{")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
