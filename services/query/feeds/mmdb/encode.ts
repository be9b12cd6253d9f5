/** Types of the MaxMind DB format 2.0, as its control bytes number them. */
const TYPES = { text: 2, uint16: 5, uint32: 6, map: 7, uint64: 9, array: 11 } as const;
/** Types from 8 on have a byte of their own, which counts from 7. */
const FIRST_EXTENDED = 8;

/** The bytes that begin a value. @param size bytes of a text or number, members of a map or array. */
function control(type: number, size: number): Buffer {
  const isExtended = type >= FIRST_EXTENDED;
  const rest = size < 29 ? [] : size < 285 ? [size - 29] : [(size - 285) >>> 8, (size - 285) & 255];
  const shown = size < 29 ? size : 28 + rest.length;
  return Buffer.from([((isExtended ? 0 : type) << 5) | shown, ...(isExtended ? [type - 7] : []), ...rest]);
}

/** @param text up to 65,820 bytes of UTF-8. */
export function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([control(TYPES.text, bytes.length), bytes]);
}

/** A number in as few bytes as it needs, which may be none. */
export function encodeNumber(type: "uint16" | "uint32" | "uint64", value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.concat([control(TYPES[type], bytes.length), Buffer.from(bytes)]);
}

/** What comes before the items of an array. */
export const beginArray = (items: number): Buffer => control(TYPES.array, items);
/** What comes before the keys and values of a map. */
export const beginMap = (members: number): Buffer => control(TYPES.map, members);

/** @param members keys and values, encoded. */
export function encodeMap(members: readonly (readonly [key: Buffer, value: Buffer])[]): Buffer {
  return Buffer.concat([beginMap(members.length), ...members.flat()]);
}

/** A reference to an encoded value. @param offset of that value, in bytes from the start of the data section. */
export function encodePointer(offset: number): Buffer {
  if (offset < 2_048) return Buffer.from([0x20 | (offset >>> 8), offset & 255]);
  if (offset < 526_336) {
    const rest = offset - 2_048;
    return Buffer.from([0x28 | (rest >>> 16), (rest >>> 8) & 255, rest & 255]);
  }
  const bytes = Buffer.from([0x38, 0, 0, 0, 0]);
  bytes.writeUInt32BE(offset, 1);
  return bytes;
}
