import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedItems } from "../feed-content.ts";
import { encodeArray, encodeMap, encodePointer, encodeText } from "./encode.ts";

/** What a database says of its addresses. */
export type DataSection = {
  readonly pieces: readonly Buffer[];
  /** All bytes of the pieces. */
  readonly size: number;
  /** Where the value of each address begins, in bytes from the start of the section, in the addresses' order. */
  readonly offsets: Uint32Array;
};

/** Encodes `{classification, last_seen, tags}` of each address. Whatever two of them share is written once. */
export async function makeDataSection(items: FeedItems, count: number): Promise<DataSection> {
  const pieces: Buffer[] = [];
  const pointers = new Map<string, Buffer>();
  const offsets = new Uint32Array(count);
  let size = 0;
  let index = 0;
  const append = (value: Buffer) => {
    const offset = size;
    pieces.push(value);
    size += value.length;
    return offset;
  };
  /** A pointer to a value, which is made and written when its name is asked for the first time. */
  const share = (name: string, encode: () => Buffer): Buffer => {
    const known = pointers.get(name);
    if (known !== undefined) return known;
    const pointer = encodePointer(append(encode()));
    pointers.set(name, pointer);
    return pointer;
  };
  const text = (value: string) => share(value, () => encodeText(value));

  for await (const block of items) {
    const values: Buffer[] = [];
    for (const { classification, lastSeen, tags } of block) {
      // Pointers first: what they point to is appended now, before the block.
      const members = [
        [text("classification"), text(classification)],
        [text("last_seen"), encodeText(formatTimestamp(lastSeen.getTime()))],
        [text("tags"), share(JSON.stringify(tags), () => encodeArray(tags.map(text)))],
      ] as const;
      values.push(encodeMap(members));
    }
    for (const value of values) {
      offsets[index++] = size;
      size += value.length;
    }
    pieces.push(Buffer.concat(values));
  }
  if (index !== count) throw new Error(`a feed of ${count} addresses has ${index} items`);
  return { pieces, size, offsets };
}
