import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";

/** Writes single values as ClickHouse's binary formats have them: RowBinary and Native. */
export type ValueWriter = {
  /** String. */
  text(value: string): void;
  uuid(value: string): void;
  /** DateTime64(3), in milliseconds since 1970 UTC. */
  time(ms: number): void;
  ipv4(address: string): void;
  uint8(value: number): void;
  uint16(value: number): void;
  uint32(value: number): void;
  /** A number up to 2^53. */
  uint64(value: number): void;
  bigUint64(value: bigint): void;
  float32(value: number): void;
  /** How many items or bytes follow: seven bits a byte, the lowest first. */
  count(value: number): void;
  /** The same byte several times. */
  fill(byte: number, times: number): void;
  /** A copy of what was written since {@link clear}. */
  copy(): Buffer;
  clear(): void;
};

const FIRST_BYTES = 1024 * 1024;
/** Up to here, writing characters one by one is faster than a call of the runtime. */
const SHORT = 64;

export function valueWriter(): ValueWriter {
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
  const count = (value: number) => {
    reserve(5);
    let rest = value;
    for (; rest > 127; rest >>>= 7) bytes[length++] = (rest & 127) | 128;
    bytes[length++] = rest;
  };
  const writeLong = (value: string) => {
    const size = Buffer.byteLength(value);
    count(size);
    reserve(size);
    length += bytes.write(value, length);
  };
  const text = (value: string) => {
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
  const uint32 = (value: number) => {
    reserve(4);
    length = bytes.writeUInt32LE(value, length);
  };
  return {
    text,
    uuid(value) {
      let encoded = uuids.get(value);
      if (encoded === undefined) {
        encoded = uuidBytes(value);
        uuids.set(value, encoded);
      }
      reserve(encoded.length);
      // Sixteen bytes are copied faster one by one.
      for (let index = 0; index < encoded.length; index++) bytes[length++] = encoded[index] ?? 0;
    },
    time(ms) {
      // Its halves: to make a BigInt of it takes four times as long.
      uint32(ms - Math.floor(ms / 2 ** 32) * 2 ** 32);
      reserve(4);
      length = bytes.writeInt32LE(Math.floor(ms / 2 ** 32), length);
    },
    ipv4: (address) => uint32(ipv4ToNumber(address)),
    uint8(value) {
      reserve(1);
      bytes[length++] = value;
    },
    uint16(value) {
      reserve(2);
      length = bytes.writeUInt16LE(value, length);
    },
    uint32,
    uint64(value) {
      uint32(value % 2 ** 32);
      uint32(Math.floor(value / 2 ** 32));
    },
    bigUint64(value) {
      reserve(8);
      length = bytes.writeBigUInt64LE(value, length);
    },
    float32(value) {
      reserve(4);
      length = bytes.writeFloatLE(value, length);
    },
    count,
    fill(byte, times) {
      reserve(times);
      bytes.fill(byte, length, length + times);
      length += times;
    },
    copy: () => Buffer.from(bytes.subarray(0, length)),
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
