import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN } from "../../../test/support/ingest/decode.ts";
import { splitAddress } from "./addresses.ts";
import { toObservation, transportOf } from "./draft.ts";

test.each([
  "192.175.48.77",
  " 192.175.48.77 ",
  "/192.175.48.77",
  "::ffff:192.175.48.77",
  "::FFFF:192.175.48.77",
  "::ffff:c0af:304d",
  "0:0:0:0:0:ffff:c0af:304d",
  "0:0:0:0:0:FFFF:192.175.48.77",
  "0000:0000:0000:0000:0000:ffff:192.175.48.77",
  "0000:0000:0000:0000:0000:ffff:c0af:304d",
  "[::ffff:192.175.48.77]",
  "::ffff:192.175.48.77%eth0.100",
])("%j is 192.175.48.77", (text) => {
  expect(splitAddress(text)).toEqual({ address: "192.175.48.77" });
});

test.each([
  "192.175.48.77:51234",
  "/192.175.48.77:51234",
  "[::ffff:192.175.48.77]:51234",
  "[::ffff:c0af:304d%br-lan]:51234",
  "::ffff:192.175.48.77:51234",
])("%j is 192.175.48.77 and its port 51234", (text) => {
  expect(splitAddress(text)).toEqual({ address: "192.175.48.77", port: 51_234 });
});

test.each([
  ["2001:db8::1", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["::8.8.8.8", "::8.8.8.8"],
  ["::808:808", "::808:808"],
  ["64:ff9b::8.8.8.8", "64:ff9b::8.8.8.8"],
  ["::ffff:010.0.0.1", "::ffff:010.0.0.1"],
  ["192.175.48.77:99999", "192.175.48.77:99999"],
  ["host.example:80", "host.example:80"],
  ["", ""],
])("%j is the address %j, and no IPv4 address", (text, address) => {
  expect(splitAddress(text)).toEqual({ address });
});

test("every IPv4 address is itself in each spelling of its mapping, with and without a port", () => {
  fc.assert(
    fc.property(fc.nat(0xffffffff), fc.option(fc.nat(65_535), { nil: undefined }), (number, port) => {
      const address = numberToIpv4(number);
      const hex = `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`;
      for (const mapped of [`::ffff:${address}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${hex}`, address]) {
        const inBrackets = mapped === address ? address : `[${mapped}]`;
        const text = port === undefined ? mapped : `${inBrackets}:${port}`;
        expect(splitAddress(text)).toEqual(port === undefined ? { address } : { address, port });
      }
    }),
  );
});

test("a port after the source is the source's port, unless the record has one", () => {
  const draft = { format: "x", observedAt: "2026-11-20T13:00:00Z", sourceIp: "45.83.64.1:5555", sourceMembers: ["ip"] };
  expect(toObservation(draft, PLAIN)).toMatchObject({ observation: { source_ip: "45.83.64.1", source_port: 5_555 } });
  expect(toObservation({ ...draft, sourcePort: 7 }, PLAIN)).toMatchObject({ observation: { source_port: 7 } });
});

test.each([
  ["tcp", "tcp"],
  ["UDP", "udp"],
  ["Tcp", "tcp"],
  ["1", "icmp"],
  ["6", "tcp"],
  ["17", "udp"],
  ["58", "icmp"],
  ["132", "sctp"],
  ["ipv6-icmp", "icmp"],
  ["47", undefined],
  ["ssh", undefined],
  ["", undefined],
])("the protocol %j is %s", (text, transport) => {
  expect(transportOf(text)).toBe(transport);
});
