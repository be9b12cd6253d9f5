import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { inflateChunkBytes } from "@noisefloor/domain/inflate-chunk.ts";
import { HEAD_BYTES, readAt } from "./fingerprint.ts";

/** The bytes of a file, unpacked. */
export type Content = {
  /** @returns fewer bytes than asked for where it ends, for now or for good. Positions only grow. */
  read(position: number, bytes: number): Promise<Buffer>;
  /** The first bytes, up to {@link HEAD_BYTES}. */
  head(): Promise<Buffer>;
  /** Bytes on disk. */
  size(): Promise<number>;
  close(): Promise<void>;
};

/** Opens a file that may grow, be renamed or be removed while it is read: what is open stays readable. */
export async function openPlain(path: string): Promise<Content> {
  const handle = await open(path, "r");
  return {
    read: (position, bytes) => readAt(handle, position, bytes),
    head: () => readAt(handle, 0, HEAD_BYTES),
    size: async () => (await handle.stat()).size,
    close: () => handle.close(),
  };
}

/** Opens a gzip file. @throws from `read` when its data are damaged, or end early. */
export function openPacked(path: string): Content {
  const { read, close } = unpack(path);
  return {
    read,
    head: () => read(0, HEAD_BYTES),
    size: async () => (await stat(path)).size,
    close: async () => close(),
  };
}

/** Reads on from one stream, as a packed file cannot be read from the middle. */
function unpack(path: string): { read: Content["read"]; close: () => void } {
  let streams: Readable[] = [];
  let chunks: AsyncIterator<Buffer> | undefined;
  let buffered: Buffer = Buffer.alloc(0);
  let bufferedAt = 0;
  const begin = () => {
    const raw = createReadStream(path, { highWaterMark: 256 * 1024 });
    const unpacked = createGunzip({ chunkSize: inflateChunkBytes() });
    raw.on("error", (error) => unpacked.destroy(error));
    streams = [raw, unpacked];
    return raw.pipe(unpacked)[Symbol.asyncIterator]();
  };
  return {
    async read(position, bytes) {
      chunks ??= begin();
      while (bufferedAt + buffered.length < position + bytes) {
        const { done, value } = await chunks.next();
        if (done) break;
        const isBefore = bufferedAt + buffered.length <= position;
        if (isBefore) bufferedAt += buffered.length;
        buffered = isBefore ? value : Buffer.concat([buffered, value]);
      }
      const start = Math.min(Math.max(0, position - bufferedAt), buffered.length);
      buffered = buffered.subarray(start);
      bufferedAt += start;
      return buffered.subarray(0, bytes);
    },
    close() {
      for (const stream of streams) stream.destroy();
    },
  };
}
