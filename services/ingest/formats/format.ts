import type { Readable } from "node:stream";

/** One record of a log file. */
export type FileRecord = {
  /** The record as it stands in the file. */
  readonly bytes: Buffer;
  /** The record as an observation of the wire schema, not validated yet; absent when it cannot be read. */
  readonly value?: unknown;
};

/** A kind of log file and how its records become observations. */
export type LogFormat = {
  readonly name: string;
  readonly description: string;
  /** Reads an unpacked file. A record that cannot be read is yielded without a value; only a broken stream throws. */
  read(stream: Readable): AsyncIterable<FileRecord>;
};
