import type { FollowedFile, Resume } from "@noisefloor/clickhouse/intake/followed-files.ts";
import type { IgnoredCounts } from "../../../formats/ignored.ts";
import type { ReplayRecord } from "../../file/records.ts";
import type { Content } from "./content.ts";
import { cutPiece, type Piece } from "./cut-piece.ts";
import { type Fingerprint, fingerprintOf, hasFingerprint } from "./fingerprint.ts";
import { openRecordStream, type RecordStream, type RecordStreamOptions } from "./record-stream.ts";

/** Records of a file, which are stored before the position after them is. */
export type FollowedPiece = {
  /** The file as it was before them. */
  readonly file: FollowedFile;
  /** As they stand in the file, and the lines of the header that holds for the first of them. */
  readonly raw: readonly Buffer[];
  readonly header: readonly Buffer[];
  readonly records: readonly ReplayRecord[];
  readonly ignored: IgnoredCounts;
  /** Some count as of when they were read: {@link FollowedPiece.resume} must be stored before they are. */
  readonly lacksTimes: boolean;
  /** What the file is after them. */
  readonly after: Pick<FollowedFile, "position" | "resume"> & Fingerprint;
  /** What is to be stored before them, where they lack times. */
  readonly resume: Resume;
};

export type ReadResult =
  | { readonly piece: FollowedPiece }
  /** No record is whole. */
  | { readonly none: true }
  /** Other content lies there now. */
  | { readonly replaced: true }
  /** No format knows anything of its beginning. */
  | { readonly unknown: true };

/** Reads one content from its position on. */
export type Reading = {
  /** Where it goes on: ahead of what is stored. */
  position(): number;
  /** @param isEnd whether nothing more will be written: what stands behind the last line's end is a record, too. */
  next(isEnd: boolean): Promise<ReadResult>;
  close(): Promise<void>;
};

/** An insert of a few thousand rows; two of them are decoded in the memory of a small machine. */
const PIECE_BYTES = 1024 * 1024;
/** No header is longer. */
const HEADER_BYTES = 64 * 1024;

export type OpenReadingOptions = {
  readonly target: Pick<RecordStreamOptions, "formats" | "decode">;
  readonly content: Content;
  /** Whether what no format knows here is read all the same. */
  readonly isForwarding?: boolean | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Begins to read where the process before has ended, with what it knew of the bytes before. */
export async function openReading(
  stored: FollowedFile,
  { target, content, isForwarding, now }: OpenReadingOptions,
): Promise<Reading> {
  let file = stored;
  const stream = openRecordStream({ ...target, origin: () => file.path });
  let header = await readBefore(file, content, stream);
  const isSame = async (to: number) =>
    file.isPacked || ((await content.size()) >= to && hasFingerprint(await content.head(), file));
  return {
    position: () => file.position,
    async next(isEnd) {
      const { position, resume } = file;
      const again = resume.again !== undefined && resume.again.to > position ? resume.again : undefined;
      const piece = await cutPiece(content, {
        from: position,
        cut: resume.cut,
        isEnd,
        ...(again === undefined ? { bytes: PIECE_BYTES } : { bytes: again.to - position, isExact: true }),
      });
      // Afterwards, as the file may be truncated at any time.
      if (!(await isSame(piece?.to ?? position))) return { replaced: true };
      if (piece === undefined) return { none: true };
      const time = again?.at ?? now();
      const decoded = stream.decode(piece.records, resume.records, time);
      if (decoded.isUnknown && position === 0 && !isForwarding) return { unknown: true };
      const after = {
        position: piece.to,
        resume: afterPiece(resume, piece, decoded.lacksIds, decoded.header?.index),
        ...(file.isPacked ? { headBytes: file.headBytes, head: file.head } : fingerprintOf(await content.head())),
      };
      const result: FollowedPiece = {
        file,
        raw: piece.records,
        header: decoded.header?.index === 0 ? [] : header,
        records: decoded.records,
        ignored: decoded.ignored,
        lacksTimes: decoded.lacksTimes,
        after,
        resume: { ...resume, again: { to: piece.to, at: time } },
      };
      header = decoded.header?.lines ?? header;
      file = { ...file, ...after };
      return { piece: result };
    },
    close: content.close,
  };
}

function afterPiece(before: Resume, piece: Piece, lacksIds: boolean, headerIndex: number | undefined): Resume {
  return {
    cut: piece.cut,
    records: before.records + piece.records.length,
    headerAt: headerIndex === undefined ? before.headerAt : piece.startOf(headerIndex),
    hasOrdinals: before.hasOrdinals || lacksIds,
    isComplete: false,
  };
}

/** Reads what the bytes before the position say about those after it. @returns the lines of the header. */
async function readBefore(
  { position, resume }: FollowedFile,
  content: Content,
  stream: RecordStream,
): Promise<readonly Buffer[]> {
  const from = resume.hasOrdinals ? 0 : (resume.headerAt ?? position);
  let header: readonly Buffer[] = [];
  for (let at = from, cut = { isInArray: false, isClosing: false, isDropping: false }, records = 0; at < position; ) {
    const bytes = Math.min(resume.hasOrdinals ? PIECE_BYTES : HEADER_BYTES, position - at);
    const piece = await cutPiece(content, { from: at, cut, bytes, isExact: bytes === position - at });
    if (piece === undefined) break;
    if (resume.hasOrdinals) header = stream.decode(piece.records, records, 0).header?.lines ?? header;
    else {
      for (const [index, line] of piece.records.entries()) {
        const decoded = stream.decode([line], index, 0);
        if (!decoded.ignored.has("header")) return header;
        header = [...header, line];
      }
    }
    at = piece.to;
    cut = piece.cut;
    records += piece.records.length;
  }
  return header;
}
