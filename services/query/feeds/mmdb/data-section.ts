import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedItems } from "../feed-content.ts";
import { beginArray, beginMap, encodePointer, encodeText } from "./encode.ts";

/** What a database says of its addresses. */
export type DataSection = {
  readonly pieces: readonly Buffer[];
  /** All bytes of the pieces. */
  readonly size: number;
  /** Where the value of each address begins, in bytes from the start of the section, in the addresses' order. */
  readonly offsets: Uint32Array;
};

/**
 * Encodes `{classification, last_seen, tags}` of each address. Whatever two of them share is written once, within the
 * first that has it: verifiers want the section to have no value that the tree does not point to.
 */
export async function makeDataSection(items: FeedItems, count: number): Promise<DataSection> {
  const pieces: Buffer[] = [];
  const pointers = new Map<string, Buffer>();
  const offsets = new Uint32Array(count);
  let size = 0;
  let index = 0;
  let written: Buffer[] = [];
  const append = (bytes: Buffer) => {
    written.push(bytes);
    size += bytes.length;
  };
  /** Writes a value where its name is met for the first time, and a pointer to it everywhere else. */
  const share = (name: string, write: () => void) => {
    const pointer = pointers.get(name);
    if (pointer !== undefined) {
      append(pointer);
      return;
    }
    pointers.set(name, encodePointer(size));
    write();
  };
  const text = (value: string) => share(value, () => append(encodeText(value)));

  for await (const block of items) {
    for (const { classification, lastSeen, tags } of block) {
      offsets[index++] = size;
      append(beginMap(3));
      text("classification");
      text(classification);
      text("last_seen");
      append(encodeText(formatTimestamp(lastSeen.getTime())));
      text("tags");
      share(JSON.stringify(tags), () => {
        append(beginArray(tags.length));
        tags.forEach(text);
      });
    }
    pieces.push(Buffer.concat(written));
    written = [];
  }
  if (index !== count) throw new Error(`a feed of ${count} addresses has ${index} items`);
  return { pieces, size, offsets };
}
