import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";

/** Between the tree and the data. Values point behind it. */
export const SEPARATOR = Buffer.alloc(16);

const ADDRESS_BITS = 32;
/** Nodes that lead to `::/96`, where readers look for IPv4. */
const ZEROS = 96;
/** The first of these bits of an address such as `::ffff:192.0.2.1` is not 0. */
const MAPPED_FROM = 80;
/** Nodes that lead from there to the same addresses. */
const MAPPED = ZEROS - MAPPED_FROM - 1;
const IPV4_ROOT = ZEROS + MAPPED;
const ADDRESSES_BEFORE_YIELD = 8_192;

export type SearchTree = { readonly bytes: Buffer; readonly nodeCount: number; readonly recordBits: 24 | 28 | 32 };

/**
 * A tree of IPv6 with IPv4 addresses in `::/96` and, for readers that are asked about such, in `::ffff:0:0/96`. Not one
 * of IPv4 alone: npm's `maxmind` answers for IPv6 addresses from such a tree by their first 32 bits.
 * @param addresses in numeric order, each once.
 * @param offsets of each address's value in a data section of `dataSize` bytes.
 */
export async function makeSearchTree(
  addresses: Uint32Array,
  offsets: Uint32Array,
  dataSize: number,
): Promise<SearchTree> {
  const nodeCount = IPV4_ROOT + countNodes(addresses);
  const largest = nodeCount + SEPARATOR.length + dataSize;
  const recordBits = largest < 2 ** 24 ? 24 : largest < 2 ** 28 ? 28 : 32;
  const bytes = Buffer.alloc((nodeCount * recordBits) / 4);
  const setRecord = recordWriter(bytes, recordBits);
  const setNode = (node: number, left: number, right: number) => {
    setRecord(node, 0, left);
    setRecord(node, 1, right);
  };

  const ipv4 = addresses.length === 0 ? nodeCount : IPV4_ROOT;
  for (let depth = 0; depth < ZEROS; depth++) {
    setNode(depth, depth === ZEROS - 1 ? ipv4 : depth + 1, depth === MAPPED_FROM ? ZEROS : nodeCount);
  }
  for (let node = ZEROS; node < IPV4_ROOT; node++) setNode(node, nodeCount, node === IPV4_ROOT - 1 ? ipv4 : node + 1);

  /** The nodes on the way to the address before, by depth. */
  const path = new Uint32Array(ADDRESS_BITS);
  let next = IPV4_ROOT;
  for (let index = 0; index < addresses.length; index++) {
    if (index % ADDRESSES_BEFORE_YIELD === ADDRESSES_BEFORE_YIELD - 1) await yieldToEventLoop();
    const address = addresses[index] ?? 0;
    const shared = index === 0 ? -1 : Math.clz32(address ^ (addresses[index - 1] ?? 0));
    for (let depth = shared + 1; depth < ADDRESS_BITS; depth++) {
      if (depth > 0) setRecord(path[depth - 1] ?? 0, bitAt(address, depth - 1), next);
      setNode(next, nodeCount, nodeCount);
      path[depth] = next++;
    }
    const value = nodeCount + SEPARATOR.length + (offsets[index] ?? 0);
    setRecord(path[ADDRESS_BITS - 1] ?? 0, bitAt(address, ADDRESS_BITS - 1), value);
  }
  return { bytes, nodeCount, recordBits };
}

const bitAt = (address: number, depth: number) => (address >>> (ADDRESS_BITS - 1 - depth)) & 1;

/** One node for each distinct beginning of an address, of 0 to 31 bits. */
function countNodes(addresses: Uint32Array): number {
  let count = addresses.length === 0 ? 0 : ADDRESS_BITS;
  for (let index = 1; index < addresses.length; index++) {
    const shared = Math.clz32((addresses[index] ?? 0) ^ (addresses[index - 1] ?? 0));
    count += ADDRESS_BITS - 1 - shared;
  }
  return count;
}

type RecordWriter = (node: number, side: number, value: number) => void;

/** Writes the left (0) or right (1) record of a node, big endian. */
function recordWriter(bytes: Buffer, recordBits: SearchTree["recordBits"]): RecordWriter {
  const nodeBytes = recordBits / 4;
  const sideBytes = Math.ceil(recordBits / 8);
  if (recordBits === 32) return (node, side, value) => bytes.writeUInt32BE(value, node * nodeBytes + side * sideBytes);
  return (node, side, value) => {
    const start = node * nodeBytes + side * sideBytes;
    bytes[start] = (value >>> 16) & 255;
    bytes[start + 1] = (value >>> 8) & 255;
    bytes[start + 2] = value & 255;
    if (recordBits === 24) return;
    // The byte in the middle has the highest four bits of both.
    const middle = node * nodeBytes + 3;
    const both = bytes[middle] ?? 0;
    bytes[middle] = side === 0 ? (both & 0x0f) | ((value >>> 20) & 0xf0) : (both & 0xf0) | (value >>> 24);
  };
}
