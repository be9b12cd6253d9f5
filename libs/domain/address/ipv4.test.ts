import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, test } from "vitest";
import {
  type Ipv4Network,
  ipv4ToNumber,
  isIpv4,
  isRoutableIpv4,
  lastAddress,
  numberToIpv4,
  parseNetwork,
} from "./ipv4.ts";

const anyAddress = fc.nat({ max: 0xffffffff });

/** Ranges that the Internet does not route, with the routable neighbours of each, where it has any. */
const NOT_ROUTABLE: [
  why: string,
  first: string,
  last: string,
  before: string | undefined,
  after: string | undefined,
][] = [
  ["this network", "0.0.0.0", "0.255.255.255", undefined, "1.0.0.0"],
  ["private", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["carrier-grade NAT", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["private", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["reserved for protocols", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["documentation", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["private", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["benchmarking", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["documentation", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["documentation", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255", undefined],
  ["reserved", "240.0.0.0", "255.255.255.254", undefined, undefined],
  ["broadcast", "255.255.255.255", "255.255.255.255", undefined, undefined],
];

describe("a routable address", () => {
  test.each(NOT_ROUTABLE)(
    "is not at the edges of %s, %s to %s, but may be next to them",
    (_, first, last, before, after) => {
      expect([first, last].filter(isRoutableIpv4)).toEqual([]);
      const neighbours = [before, after].filter((address) => address !== undefined);
      expect(neighbours.filter(isRoutableIpv4)).toEqual(neighbours);
    },
  );

  test.each(NOT_ROUTABLE)("is not inside %s, %s to %s", (_, first, last) => {
    fc.assert(
      fc.property(fc.integer({ min: ipv4ToNumber(first), max: ipv4ToNumber(last) }), (value) => {
        expect(isRoutableIpv4(numberToIpv4(value))).toBe(false);
      }),
    );
  });

  test("is one that ipaddr.js finds in no reserved range", () => {
    const reachable = new Set(["unicast", "as112", "amt"]);
    const edges = NOT_ROUTABLE.flatMap(([, first, last]) => [ipv4ToNumber(first), ipv4ToNumber(last)]);
    const nearEdge = fc.tuple(
      fc.constantFrom(...edges, ipv4ToNumber("192.88.99.0")),
      fc.integer({ min: -300, max: 300 }),
    );
    const value = fc.oneof(
      anyAddress,
      nearEdge.map(([edge, off]) => Math.min(Math.max(edge + off, 0), 0xffffffff)),
    );
    fc.assert(
      fc.property(value, (one) => {
        const text = numberToIpv4(one);
        expect([text, isRoutableIpv4(text)]).toEqual([text, reachable.has(ipaddr.IPv4.parse(text).range())]);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each(["8.8.8.8", "1.1.1.1", "45.83.64.1", "222.187.238.136", "223.255.255.255", "192.175.48.1"])(
    "is %s",
    (address) => {
      expect(isRoutableIpv4(address)).toBe(true);
    },
  );
});

describe("an address in canonical spelling", () => {
  test.each([
    "",
    "0x7f.1",
    "0x08.0x08.0x08.0x08",
    "1.2",
    "1.2.3",
    "1.2.3.4.5",
    "134744072",
    "010.0.0.1",
    "8.8.8.08",
    "00.0.0.0",
    "256.1.1.1",
    "1.1.1.256",
    "1.1.1.1000",
    " 1.2.3.4",
    "1.2.3.4 ",
    "1.2.3.4\n",
    "1. 2.3.4",
    "1.2.3.4.",
    ".1.2.3.4",
    "1..3.4",
    "-1.2.3.4",
    "+1.2.3.4",
    "1e0.2.3.4",
    "1.2.3.4/32",
    "1.2.3.4:80",
    "::ffff:1.2.3.4",
    "::1",
    "2001:db8::1",
    "\uff11.1.1.1",
    "\u0661.1.1.1",
    "1\u30021.1.1",
    "localhost",
  ])("is not %j", (text) => {
    expect([isIpv4(text), isRoutableIpv4(text)]).toEqual([false, false]);
  });

  test("survives the conversion to its number and back", () => {
    fc.assert(
      fc.property(anyAddress, (value) => {
        const text = numberToIpv4(value);
        expect(isIpv4(text)).toBe(true);
        expect(ipv4ToNumber(text)).toBe(value);
      }),
      { examples: [[0], [0x7fffffff], [0x80000000], [0xffffffff]] },
    );
  });

  test("is the only spelling that is accepted", () => {
    const part = fc.oneof(fc.nat(300).map(String), fc.stringMatching(/^[0-9.x]{0,4}$/));
    let taken = 0;
    fc.assert(
      fc.property(fc.array(part, { minLength: 3, maxLength: 5 }), (parts) => {
        const text = parts.join(".");
        if (!isIpv4(text)) return;
        taken++;
        expect(numberToIpv4(ipv4ToNumber(text))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
    expect(taken).toBeGreaterThan(0);
  });

  test.each([
    ["0.0.0.0", 0],
    ["8.8.8.8", 134_744_072],
    ["128.0.0.0", 2 ** 31],
    ["255.255.255.255", 2 ** 32 - 1],
  ])("converts between %s and %i", (text, value) => {
    expect(ipv4ToNumber(text)).toBe(value);
    expect(numberToIpv4(value)).toBe(text);
  });

  test.each([-1, 2 ** 32, 0.5, Number.NaN, Number.POSITIVE_INFINITY])("does not exist for %d", (value) => {
    expect(() => numberToIpv4(value)).toThrow(RangeError);
  });
});

describe("parsing a network", () => {
  test.each<[string, Ipv4Network, last: string]>([
    ["0.0.0.0/0", { first: 0, length: 0 }, "255.255.255.255"],
    ["17.0.0.0/8", { first: 17 * 2 ** 24, length: 8 }, "17.255.255.255"],
    ["128.0.0.0/1", { first: 2 ** 31, length: 1 }, "255.255.255.255"],
    ["8.8.8.0/24", { first: 134_744_064, length: 24 }, "8.8.8.255"],
    ["8.8.8.8/31", { first: 134_744_072, length: 31 }, "8.8.8.9"],
    ["8.8.8.8/32", { first: 134_744_072, length: 32 }, "8.8.8.8"],
    ["8.8.8.8", { first: 134_744_072, length: 32 }, "8.8.8.8"],
  ])("reads %s", (text, network, last) => {
    expect(parseNetwork(text)).toEqual(network);
    expect(numberToIpv4(lastAddress(network))).toBe(last);
  });

  test.each([
    ["8.8.8.8/24", /beyond its \/24 prefix/],
    ["128.0.0.1/31", /beyond its \/31 prefix/],
    ["0.0.0.1/0", /beyond its \/0 prefix/],
    ["8.8.8.0/33", /not 0 to 32/],
    ["8.8.8.0/-1", /not 0 to 32/],
    ["8.8.8.0/08", /not 0 to 32/],
    ["8.8.8.0/", /not 0 to 32/],
    ["8.8.8.0/ 24", /not 0 to 32/],
    ["8.8.8.0/24.0", /not 0 to 32/],
    ["8.8.8.0/255.255.255.0", /not 0 to 32/],
    ["8.8.8.0/24/24", /not an IPv4 address/],
    ["8.8.8/24", /not an IPv4 address/],
    ["2001:db8::/32", /not an IPv4 address/],
    ["/24", /not an IPv4 address/],
    ["", /not an IPv4 address/],
  ])("rejects %j and says why", (text, reason) => {
    expect(parseNetwork(text)).toMatch(reason);
  });

  test("accepts a network exactly when no bit is set beyond its prefix", () => {
    const addressAndLength = fc.tuple(anyAddress, fc.nat(32), fc.boolean()).map(([value, length, clear]) => {
      const size = 2 ** (32 - length);
      return { value: clear ? value - (value % size) : value, length, size };
    });
    fc.assert(
      fc.property(addressAndLength, ({ value, length, size }) => {
        const parsed = parseNetwork(`${numberToIpv4(value)}/${length}`);
        if (value % size !== 0) expect(parsed).toBeTypeOf("string");
        else expect(parsed).toEqual({ first: value, length });
      }),
    );
  });
});
