import { createHash } from "node:crypto";

/** A body that a form wrote, for all who ask for it. */
export type RenderedBody = {
  readonly pieces: readonly Buffer[];
  /** Hexadecimal digits: the same exactly as long as the bytes are. */
  readonly digest: string;
};

export type RenderedBodies = {
  /**
   * The body with this key, written when it is not kept. Calls at the same time share it.
   * @param maxAgeMs for how long it may be kept; left out, as long as there is memory.
   */
  get(key: string, write: () => Chunks, maxAgeMs?: number): Promise<RenderedBody>;
};

type Chunks = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
type Entry = { readonly body: Promise<RenderedBody>; readonly until: number; bytes: number };

const MAX_BYTES = 128 * 1024 * 1024;
/** Of the memory, for one body. */
const MAX_SHARE = 0.25;
const PIECE_BYTES = 64 * 1024;

/** Keeps written bodies within a memory limit, those that were asked for last; a large one only while it is written. */
export function keepRenderedBodies(maxBytes = MAX_BYTES): RenderedBodies {
  const entries = new Map<string, Entry>();
  let bytes = 0;
  const remove = (key: string, entry: Entry) => {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    bytes -= entry.bytes;
  };
  const evict = () => {
    for (const [key, entry] of entries) {
      if (bytes <= maxBytes) return;
      remove(key, entry);
    }
  };
  return {
    async get(key, write, maxAgeMs = Number.POSITIVE_INFINITY) {
      const known = entries.get(key);
      if (known !== undefined && performance.now() < known.until) {
        // To the end: the first are evicted first.
        entries.delete(key);
        entries.set(key, known);
        return known.body;
      }
      if (known !== undefined) remove(key, known);
      const entry: Entry = { body: render(write()), until: performance.now() + maxAgeMs, bytes: 0 };
      entries.set(key, entry);
      try {
        const body = await entry.body;
        const size = body.pieces.reduce((sum, { length }) => sum + length, 0);
        // A large one would evict all others.
        if (size > maxBytes * MAX_SHARE) remove(key, entry);
        else if (entries.get(key) === entry) {
          entry.bytes = size;
          bytes += entry.bytes;
          evict();
        }
        return body;
      } catch (error) {
        remove(key, entry);
        throw error;
      }
    },
  };
}

async function render(chunks: Chunks): Promise<RenderedBody> {
  const hash = createHash("sha256");
  const pieces: Buffer[] = [];
  let gathered: Buffer[] = [];
  let length = 0;
  const flush = () => {
    if (length === 0) return;
    const piece = Buffer.concat(gathered, length);
    hash.update(piece);
    pieces.push(piece);
    gathered = [];
    length = 0;
  };
  for await (const chunk of chunks) {
    const bytes =
      typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    gathered.push(bytes);
    length += bytes.length;
    if (length >= PIECE_BYTES) flush();
  }
  flush();
  return { pieces, digest: hash.digest("hex").slice(0, 32) };
}
