import fc from "fast-check";
import { expect, test } from "vitest";
import { clientNetwork } from "./client-address.ts";

const PROXY = "192.0.2.1";
const networkOf = (forwarded: string) => clientNetwork(forwarded, PROXY);

test.each([
  ["8.8.8.8", ["8.8.8.8", "8.8.8.8:1111", "::ffff:8.8.8.8", "::FFFF:808:808", "[::ffff:8.8.8.8]:443"]],
  ["2001:db8::/64", ["2001:db8::1", "2001:DB8::1", "2001:db8:0::1", "[2001:db8::1]", "[2001:db8::1]:443"]],
  ["2001:db8:0:1::/64", ["2001:db8:0:1::", "2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:0db8:0000:0001::2"]],
  ["fe80::/64", ["fe80::1", "fe80::1%eth0", "fe80::2%eth1"]],
])("every spelling of an address in %s counts as the same client", (client, spellings) => {
  expect(new Set(spellings.map(networkOf))).toEqual(new Set([client]));
});

test("neighbouring networks count as different clients", () => {
  const neighbours = ["8.8.8.8", "8.8.8.9", "2001:db8::1", "2001:db8:0:1::1", "2001:db9::1"];
  expect(new Set(neighbours.map(networkOf)).size).toBe(neighbours.length);
});

test("an IPv6 address that ends in four decimal parts is no client of IPv4, unless it maps one", () => {
  const compatible = [
    "::8.8.8.8",
    "::808:808",
    "0:0:0:0:0:0:8.8.8.8",
    "::0:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "[::8.8.8.8]:443",
  ];
  expect(compatible.map(networkOf)).not.toContain("8.8.8.8");
  const mapped = [
    "::ffff:8.8.8.8",
    "0:0:0:0:0:ffff:8.8.8.8",
    "0000:0000:0000:0000:0000:FFFF:0808:0808",
    "::ffff:8.8.8.8%1",
  ];
  expect(new Set(mapped.map(networkOf))).toEqual(new Set(["8.8.8.8"]));
});

test("when a proxy reports a text that is no address, the peer address of the connection counts", () => {
  const noAddress = fc.oneof(
    fc.string().filter((text) => !text.includes(":")),
    fc.constantFrom("unknown", "_hidden", "8.8.8.08", "8.8.8", "0x8.8", "8.8.8.8:port", "2001:db8::1::", "[8.8.8.8"),
  );
  fc.assert(
    fc.property(noAddress, (forwarded) => {
      expect(networkOf(forwarded)).toBe(PROXY);
    }),
  );
  expect(clientNetwork("unknown", "::ffff:192.0.2.1")).toBe(PROXY);
  expect(clientNetwork("unknown", undefined)).toBe("unknown");
});
