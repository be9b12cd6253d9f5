import fc from "fast-check";
import { expect, test } from "vitest";
import { ipv4ToNumber, lastAddress } from "./ipv4.ts";
import { findRange, flattenNetworks, type ListedNetwork, type OwnedRange } from "./ranges.ts";

const BASE = ipv4ToNumber("45.83.64.0");
const LAST = 0xffffffff;

/** Nested networks: most within the same 64 addresses, some around them or over the whole address space. */
const listedNetwork: fc.Arbitrary<ListedNetwork> = fc
  .record({
    near: fc.nat(63),
    length: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 25, max: 32 }) },
      { weight: 1, arbitrary: fc.nat(24) },
      { weight: 2, arbitrary: fc.constant(32) },
    ),
    listId: fc.constantFrom("a", "b", "c", "d"),
    priority: fc.constantFrom(0, 10, 10, 90),
  })
  .map(({ near, length, listId, priority }) => {
    const size = 2 ** (32 - length);
    return { first: Math.floor((BASE + near) / size) * size, length, listId, priority };
  });

/** The oracle: the longest prefix, then the highest priority, then the first list id. */
function ownerOf(address: number, networks: readonly ListedNetwork[]): string | undefined {
  const holders = networks.filter((network) => network.first <= address && address <= lastAddress(network));
  return holders.toSorted(
    (a, b) =>
      b.length - a.length || b.priority - a.priority || (a.listId < b.listId ? -1 : a.listId > b.listId ? 1 : 0),
  )[0]?.listId;
}

function found(address: number, ranges: readonly OwnedRange[]): (string | undefined)[] {
  return ranges.filter((range) => range.first <= address && address <= range.last).map((range) => range.listId);
}

/** Every address at which an answer could change, and its neighbours. */
function borders(networks: readonly ListedNetwork[]): number[] {
  const edges = networks.flatMap((network) => [network.first, lastAddress(network)]);
  const around = edges.flatMap((edge) => [edge - 1, edge, edge + 1]).filter((edge) => edge >= 0 && edge <= LAST);
  return [...new Set([0, LAST, ...around])];
}

function network(text: string, length: number, listId: string, priority = 0): ListedNetwork {
  return { first: ipv4ToNumber(text), length, listId, priority };
}

function range(first: string, last: string, listId: string): OwnedRange {
  return { first: ipv4ToNumber(first), last: ipv4ToNumber(last), listId };
}

test("an address belongs to the list of its longest prefix, then of the highest priority, then of the first list id", () => {
  fc.assert(
    fc.property(fc.array(listedNetwork, { maxLength: 14 }), fc.array(fc.nat(LAST), { maxLength: 5 }), (nets, far) => {
      const ranges = flattenNetworks(nets);
      for (const address of [...borders(nets), ...far]) {
        const owner = ownerOf(address, nets);
        expect(found(address, ranges)).toEqual(owner === undefined ? [] : [owner]);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("an address is found in the range that holds it, and nowhere else", () => {
  fc.assert(
    fc.property(fc.array(listedNetwork, { maxLength: 14 }), fc.array(fc.nat(LAST), { maxLength: 5 }), (nets, far) => {
      const ranges = flattenNetworks(nets);
      const bounds = {
        first: Uint32Array.from(ranges, ({ first }) => first),
        last: Uint32Array.from(ranges, ({ last }) => last),
      };
      for (const address of [...borders(nets), ...far]) {
        const place = ranges.findIndex(({ first, last }) => first <= address && address <= last);
        expect(findRange(bounds, address)).toBe(place < 0 ? undefined : place);
      }
    }),
  );
});

test("ranges ascend and do not overlap, and adjacent ranges of one list are merged", () => {
  fc.assert(
    fc.property(fc.array(listedNetwork, { maxLength: 20 }), (nets) => {
      const ranges = flattenNetworks(nets);
      ranges.forEach((current, index) => {
        expect(current.first).toBeLessThanOrEqual(current.last);
        const next = ranges[index + 1];
        if (next === undefined) return;
        expect(current.last).toBeLessThan(next.first);
        if (current.last + 1 === next.first) expect(current.listId).not.toBe(next.listId);
      });
    }),
    { numRuns: 500 },
  );
});

test("the order in which lists are published changes no range", () => {
  const shuffled = fc
    .array(listedNetwork, { maxLength: 12 })
    .chain((nets) =>
      fc.tuple(fc.constant(nets), fc.shuffledSubarray(nets, { minLength: nets.length, maxLength: nets.length })),
    );
  fc.assert(
    fc.property(shuffled, ([nets, other]) => {
      expect(flattenNetworks(other)).toEqual(flattenNetworks(nets));
    }),
  );
});

test("no networks give no ranges", () => {
  expect(flattenNetworks([])).toEqual([]);
});

test("a single address inside a wide network splits it in three", () => {
  expect(flattenNetworks([network("8.8.8.0", 24, "wide", 90), network("8.8.8.8", 32, "host")])).toEqual([
    range("8.8.8.0", "8.8.8.7", "wide"),
    range("8.8.8.8", "8.8.8.8", "host"),
    range("8.8.8.9", "8.8.8.255", "wide"),
  ]);
});

test("of several lists with the same network, the highest priority wins, then the first in the alphabet", () => {
  const nets = [network("8.8.8.0", 24, "c", 10), network("8.8.8.0", 24, "b", 90), network("8.8.8.0", 24, "a", 90)];
  expect(flattenNetworks(nets)).toEqual([range("8.8.8.0", "8.8.8.255", "a")]);
  expect(flattenNetworks(nets.slice(0, 2))).toEqual([range("8.8.8.0", "8.8.8.255", "b")]);
});

test("adjacent networks of one list are one range, up to the end of the address space", () => {
  expect(flattenNetworks([network("128.0.0.0", 1, "a"), network("0.0.0.0", 1, "a")])).toEqual([
    range("0.0.0.0", "255.255.255.255", "a"),
  ]);
  expect(flattenNetworks([network("0.0.0.0", 0, "a"), network("255.255.255.255", 32, "b")])).toEqual([
    range("0.0.0.0", "255.255.255.254", "a"),
    range("255.255.255.255", "255.255.255.255", "b"),
  ]);
});

test("flattening does not change its input", () => {
  const nets = [network("8.8.8.8", 32, "b"), network("8.8.8.0", 24, "a")];
  const copy = structuredClone(nets);
  flattenNetworks(nets);
  expect(nets).toEqual(copy);
});
