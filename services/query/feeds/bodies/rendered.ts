import { createHash } from "node:crypto";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { LRUCache } from "lru-cache";

/** A body that a form wrote, for all who ask for it. */
export type RenderedBody = {
  readonly pieces: readonly Buffer[];
  /** The size of all pieces together. */
  readonly bytes: number;
  /** Hexadecimal digits: the same exactly as long as the bytes are. */
  readonly digest: string;
};

export type RenderedBodies = {
  /**
   * The body with this key, written when it is not kept. Calls at the same time share it, and its error.
   * @param maxAgeMs for how long it may be kept; left out, as long as there is memory.
   */
  get(key: string, write: () => Promise<RenderedBody>, maxAgeMs?: number): Promise<RenderedBody>;
};

type Chunks = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const MAX_BYTES = 128 * 1024 * 1024;
/** Max share of the memory for one body. */
const MAX_SHARE = 0.25;
const PIECE_BYTES = 64 * 1024;
/** They take some milliseconds. */
const PIECES_BEFORE_YIELD = 4;

/** Keeps written bodies within a memory limit, those that were asked for last; a large one only while it is written. */
export function keepRenderedBodies(maxBytes = MAX_BYTES): RenderedBodies {
  const kept = new LRUCache<string, RenderedBody>({
    maxSize: maxBytes,
    // A large one would evict all others.
    maxEntrySize: maxBytes * MAX_SHARE,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
    ttlResolution: 0,
  });
  const share = createSingleFlight<string, RenderedBody>();
  return {
    async get(key, write, ttl = 0) {
      const start = performance.now();
      const writeAndKeep = async () => {
        const body = await write();
        kept.set(key, body, { ttl, start });
        return body;
      };
      return kept.get(key) ?? share(key, writeAndKeep);
    },
  };
}

/** @param grow called with the bytes of each piece before it is kept: its error ends the body. */
export async function renderBody(chunks: Chunks, grow: (bytes: number) => void): Promise<RenderedBody> {
  const hash = createHash("sha256");
  const pieces: Buffer[] = [];
  let gathered: Buffer[] = [];
  let length = 0;
  let bytes = 0;
  const flush = () => {
    if (length === 0) return;
    grow(length);
    const piece = Buffer.concat(gathered, length);
    hash.update(piece);
    pieces.push(piece);
    bytes += length;
    gathered = [];
    length = 0;
  };
  for await (const chunk of chunks) {
    const part =
      typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    gathered.push(part);
    length += part.length;
    if (length < PIECE_BYTES) continue;
    flush();
    if (pieces.length % PIECES_BEFORE_YIELD === 0) await yieldToEventLoop();
  }
  flush();
  return { pieces, bytes, digest: hash.digest("hex").slice(0, 32) };
}
