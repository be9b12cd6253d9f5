import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";

/** Writes values as ClickHouse's format RowBinary has them. What is undefined becomes the default of its type. */
export type RowBinaryWriter = {
  /** String and LowCardinality(String). */
  text(value: string | undefined): void;
  texts(values: readonly string[] | undefined): void;
  uuids(values: readonly string[] | undefined): void;
  /** Array(UInt64), as decimal numbers. */
  uint64s(values: readonly string[] | undefined): void;
  /** Array(Tuple(String, String)). */
  pairs(values: readonly (readonly [string, string])[] | undefined): void;
  /** DateTime64(3), in milliseconds since 1970 UTC. */
  time(ms: number): void;
  ipv4(address: string): void;
  nullableUint16(value: number | undefined): void;
  uint32(value: number | undefined): void;
  float32(value: number | undefined): void;
  bool(value: boolean | undefined): void;
  bytes(written: Uint8Array): void;
  /** A copy of what was written from a length on. */
  copy(from?: number): Buffer;
  length(): number;
  clear(): void;
};

const FIRST_BYTES = 1024 * 1024;
/** Up to here, writing characters one by one is faster than a call of the runtime. */
const SHORT = 64;

export function rowBinaryWriter(): RowBinaryWriter {
  let bytes = Buffer.allocUnsafe(FIRST_BYTES);
  let length = 0;
  /** There are few ids of tags. */
  const uuids = new Map<string, Buffer>();

  const reserve = (more: number) => {
    if (length + more <= bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(bytes.length * 2, length + more));
    bytes.copy(larger, 0, 0, length);
    bytes = larger;
  };
  /** Seven bits a byte, the lowest first. */
  const writeLength = (count: number) => {
    reserve(5);
    let rest = count;
    for (; rest > 127; rest >>>= 7) bytes[length++] = (rest & 127) | 128;
    bytes[length++] = rest;
  };
  const writeLong = (value: string) => {
    const size = Buffer.byteLength(value);
    writeLength(size);
    reserve(size);
    length += bytes.write(value, length);
  };
  const text = (value = "") => {
    if (value.length > SHORT) return writeLong(value);
    reserve(1 + value.length);
    const start = length;
    bytes[length++] = value.length;
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at);
      if (code > 127) {
        length = start;
        return writeLong(value);
      }
      bytes[length++] = code;
    }
  };
  const writeAll = <T>(values: readonly T[] = [], write: (value: T) => void) => {
    writeLength(values.length);
    for (const value of values) write(value);
  };
  const copyIn = (written: Uint8Array) => {
    reserve(written.length);
    bytes.set(written, length);
    length += written.length;
  };
  const uuid = (value: string) => {
    const known = uuids.get(value) ?? uuidBytes(value);
    uuids.set(value, known);
    copyIn(known);
  };
  const uint32 = (value = 0) => {
    reserve(4);
    length = bytes.writeUInt32LE(value, length);
  };
  return {
    text,
    texts: (values) => writeAll(values, text),
    uuids: (values) => writeAll(values, uuid),
    uint64s: (values) =>
      writeAll(values, (value) => {
        reserve(8);
        length = bytes.writeBigUInt64LE(BigInt(value), length);
      }),
    pairs: (values) =>
      writeAll(values, ([one, other]) => {
        text(one);
        text(other);
      }),
    time(ms) {
      reserve(8);
      // Its halves: to make a BigInt of it takes four times as long.
      length = bytes.writeUInt32LE(ms - Math.floor(ms / 2 ** 32) * 2 ** 32, length);
      length = bytes.writeInt32LE(Math.floor(ms / 2 ** 32), length);
    },
    ipv4: (address) => uint32(ipv4ToNumber(address)),
    nullableUint16(value) {
      reserve(3);
      bytes[length++] = value === undefined ? 1 : 0;
      if (value !== undefined) length = bytes.writeUInt16LE(value, length);
    },
    uint32,
    float32(value = 0) {
      reserve(4);
      length = bytes.writeFloatLE(value, length);
    },
    bool(value = false) {
      reserve(1);
      bytes[length++] = value ? 1 : 0;
    },
    bytes: copyIn,
    copy: (from = 0) => Buffer.from(bytes.subarray(from, length)),
    length: () => length,
    clear() {
      length = 0;
    },
  };
}

/** Its halves are numbers, the lowest byte first. */
function uuidBytes(value: string): Buffer {
  const bytes = Buffer.from(value.replaceAll("-", ""), "hex");
  bytes.subarray(0, 8).reverse();
  bytes.subarray(8).reverse();
  return bytes;
}
