import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { makeDataSection } from "@noisefloor/query/feeds/mmdb/data-section.ts";
import { makeSearchTree } from "@noisefloor/query/feeds/mmdb/search-tree.ts";
import { Reader } from "mmdb-lib";
import { expect, test } from "vitest";
import { makeList, writeForm } from "../../support/builders/feed.ts";
import { seeded } from "../../support/builders/random.ts";

const random = seeded(7);

test("a reader finds what is known of every listed address, and nothing of others", async () => {
  const listed = new Set(Array.from({ length: 15_000 }, () => numberToIpv4(random.int(0, 0xffffffff))));
  for (const end of ["0.0.0.0", "255.255.255.255", "1.0.0.0", "1.0.0.1", "128.0.0.0"]) listed.add(end);
  const manyTags = Array.from({ length: 300 }, (_, number) => `tag-${number}`);
  // Some addresses have a tag that no other has, so that the file has pointers of every length.
  const known = Object.fromEntries(
    [...listed].map((ip, index) => [
      ip,
      {
        classification: random.pick(INTENTIONS),
        tags: index === 0 ? manyTags : random.chance(0.1) ? [`only-${ip}`] : manyTags.slice(0, random.int(0, 3)),
        lastSeen: new Date(Date.UTC(2026, 10, 20, 0, 0, index)),
      },
    ]),
  );
  const reader = new Reader(await writeForm("mmdb", makeList(listed, known)));
  for (const ip of listed) {
    const { classification, tags, lastSeen } = known[ip] ?? {};
    const value = { classification, tags, last_seen: lastSeen?.toISOString().replace(".000", "") };
    expect(reader.get(ip)).toEqual(value);
    expect(reader.get(`::ffff:${ip}`)).toEqual(value);
  }
  for (let round = 0; round < 5_000; round++) {
    const ip = numberToIpv4(random.int(0, 0xffffffff));
    if (!listed.has(ip)) expect(reader.get(ip)).toBeNull();
  }
  // Their first 32 bits, and bits 81 to 96, are those of listed addresses.
  expect(["100:1::", "8000::1", "::fffe:1.0.0.1", "64:ff9b::1.0.0.1"].map((ip) => reader.get(ip))).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect(reader.metadata).toMatchObject({
    databaseType: "Noisefloor-Feed",
    ipVersion: 6,
    buildEpoch: new Date("2026-11-20T14:05:00Z"),
    description: { en: "Noisefloor feed recent" },
  });
});

test("the data of a file is the values of its addresses, one after another, and nothing between", async () => {
  const list = makeList(Array.from({ length: 500 }, () => numberToIpv4(random.int(0x01000000, 0xdfffffff))));
  const { pieces, size, offsets } = await makeDataSection(list.items(), list.addresses.length);
  const bytes = Buffer.concat(pieces);
  const found: number[] = [];
  for (let offset = 0; offset < size; offset = endOf(bytes, offset)) found.push(offset);
  expect(found).toEqual([...offsets]);
  // What they share is written once: of an address there is left little more than its time.
  expect(size / offsets.length).toBeLessThan(40);
});

test("a reader of an empty feed finds nothing", async () => {
  const reader = new Reader(await writeForm("mmdb", makeList([])));
  expect([reader.get("0.0.0.0"), reader.get("255.255.255.255"), reader.get("::1")]).toEqual([null, null, null]);
});

test("the tree's numbers have as many bits as the file's size needs", async () => {
  const addresses = Uint32Array.of(0x01000001, 0xffffffff);
  const largest = { 24: 2 ** 24 - 200, 28: 2 ** 28 - 200, 32: 2 ** 31 };
  for (const [bits, dataSize] of Object.entries(largest)) {
    const tree = await makeSearchTree(addresses, Uint32Array.of(5, dataSize - 1), dataSize);
    expect(String(tree.recordBits)).toBe(bits);
    const found = [...addresses].map((address) => follow(tree, address));
    expect(found).toEqual([5, dataSize - 1].map((offset) => tree.nodeCount + 16 + offset));
  }
});

/** Where a value ends, as the format's specification says: a text, a pointer, a map or an array of less than 29 items. */
function endOf(bytes: Buffer, start: number): number {
  const control = bytes[start] ?? 0;
  const [type, size] = [control >>> 5, control & 31];
  if (type === 1) return start + 2 + (size >>> 3);
  if (type === 2) return start + 1 + size;
  let end = type === 0 ? start + 2 : start + 1;
  for (let left = type === 7 ? 2 * size : size; left > 0; left--) end = endOf(bytes, end);
  return end;
}

/** Reads records as the format's specification says. @returns what the tree has for an IPv4 address. */
function follow({ bytes, recordBits }: Awaited<ReturnType<typeof makeSearchTree>>, address: number): number {
  const bits = "0".repeat(96) + address.toString(2).padStart(32, "0");
  let node = 0;
  for (const bit of bits) {
    const start = (node * recordBits) / 4;
    const all = BigInt(`0x${bytes.subarray(start, start + recordBits / 4).toString("hex")}`);
    const half = BigInt(recordBits);
    const mask = (1n << half) - 1n;
    if (recordBits !== 28) node = Number(bit === "0" ? all >> half : all & mask);
    else {
      const high = bit === "0" ? (all >> 28n) & 0xfn : (all >> 24n) & 0xfn;
      node = Number((high << 24n) | (bit === "0" ? all >> 32n : all & 0xffffffn));
    }
  }
  return node;
}
