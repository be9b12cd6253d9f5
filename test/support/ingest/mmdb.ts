import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";

type Value = string | number | boolean | readonly Value[] | { readonly [member: string]: Value };

const TYPES = { text: 2, double: 3, uint16: 5, uint32: 6, map: 7, uint64: 9, array: 11, boolean: 14 } as const;
const NODE_BYTES = 8;
const SEPARATOR = Buffer.alloc(16);
const METADATA_MARKER = Buffer.from([0xab, 0xcd, 0xef, ...Buffer.from("MaxMind.com")]);

/**
 * The bytes of an mmdb file, after the public description of the format: records of 32 bits, IPv4 alone.
 * @param records what it says, by network; whole numbers are stored as such, others as doubles.
 */
export function mmdb(
  records: Readonly<Record<string, Value>>,
  { type = "Test", builtAt = Date.UTC(2026, 10, 1) }: { type?: string; builtAt?: number } = {},
): Buffer {
  const data: Buffer[] = [];
  let dataBytes = 0;
  type Node = [zero: Node | number | undefined, one: Node | number | undefined];
  const root: Node = [undefined, undefined];
  const nodes = [root];
  for (const [network, record] of Object.entries(records)) {
    const parsed = parseNetwork(network);
    if (typeof parsed === "string") throw new Error(parsed);
    let node = root;
    for (let depth = 0; depth < parsed.length; depth++) {
      const bit = ((parsed.first >>> (31 - depth)) & 1) === 0 ? 0 : 1;
      if (depth === parsed.length - 1) node[bit] = dataBytes;
      else {
        let next = node[bit];
        if (typeof next !== "object") {
          next = [next, next];
          node[bit] = next;
          nodes.push(next);
        }
        node = next;
      }
    }
    const encoded = encode(record);
    data.push(encoded);
    dataBytes += encoded.length;
  }
  const places = new Map(nodes.map((node, place) => [node, place]));
  const tree = Buffer.alloc(nodes.length * NODE_BYTES);
  const pointerTo = (child: Node | number | undefined) => {
    if (child === undefined) return nodes.length;
    return typeof child === "number" ? nodes.length + SEPARATOR.length + child : (places.get(child) ?? nodes.length);
  };
  for (const [place, [zero, one]] of nodes.entries()) {
    tree.writeUInt32BE(pointerTo(zero), place * NODE_BYTES);
    tree.writeUInt32BE(pointerTo(one), place * NODE_BYTES + 4);
  }
  const metadata = encodeMap([
    ["node_count", encodeInteger(nodes.length)],
    ["record_size", encodeInteger(32, TYPES.uint16)],
    ["ip_version", encodeInteger(4, TYPES.uint16)],
    ["database_type", encode(type)],
    ["languages", encode(["en"])],
    ["binary_format_major_version", encodeInteger(2, TYPES.uint16)],
    ["binary_format_minor_version", encodeInteger(0, TYPES.uint16)],
    ["build_epoch", encodeInteger(builtAt / 1_000, TYPES.uint64)],
    ["description", encode({ en: "made for a test" })],
  ]);
  return Buffer.concat([tree, SEPARATOR, ...data, METADATA_MARKER, metadata]);
}

function encode(value: Value): Buffer {
  if (typeof value === "string") return withHeader(TYPES.text, Buffer.from(value));
  if (typeof value === "boolean") return header(TYPES.boolean, value ? 1 : 0);
  if (typeof value === "number") return Number.isInteger(value) ? encodeInteger(value) : encodeDouble(value);
  if (Array.isArray(value)) return Buffer.concat([header(TYPES.array, value.length), ...value.map(encode)]);
  return encodeMap(Object.entries(value).map(([name, member]) => [name, encode(member)]));
}

const encodeMap = (members: readonly (readonly [name: string, value: Buffer])[]) =>
  Buffer.concat([header(TYPES.map, members.length), ...members.flatMap(([name, value]) => [encode(name), value])]);

function encodeInteger(value: number, type: number = TYPES.uint32): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  const start = bytes.findIndex((byte) => byte !== 0);
  return withHeader(type, start === -1 ? Buffer.alloc(0) : bytes.subarray(start));
}

function encodeDouble(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return withHeader(TYPES.double, bytes);
}

const withHeader = (type: number, bytes: Buffer) => Buffer.concat([header(type, bytes.length), bytes]);

/** Types above 7 stand in a byte of their own, and so do sizes from 29 on. */
function header(type: number, size: number): Buffer {
  const first = (type <= 7 ? type << 5 : 0) | Math.min(size, 29 + Number(size >= 285));
  const more = size < 29 ? [] : size < 285 ? [size - 29] : [(size - 285) >> 8, (size - 285) & 255];
  return Buffer.from([first, ...(type <= 7 ? [] : [type - 7]), ...more]);
}
