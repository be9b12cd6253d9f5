import { expect, test } from "vitest";
import { makeList, writeForm } from "../../support/builders/feed.ts";

const list = makeList(["203.0.113.7", "1.2.3.4", "255.255.255.255"]);

test("a zone for rbldnsd has an address a line, and the test address of DNS block lists", async () => {
  expect((await writeForm("dnsbl", list)).toString().split("\n")).toEqual([
    `$SOA 300 localhost. root.localhost. ${Date.UTC(2026, 10, 20, 14, 5) / 1000} 60 60 604800 300`,
    "$TTL 300",
    ":127.0.0.2:$ is in the feed recent",
    "127.0.0.2",
    "1.2.3.4",
    "203.0.113.7",
    "255.255.255.255",
    "",
  ]);
});

test("the server that answers for a block list is named in its zone, and its name cannot carry other lines", async () => {
  const [soa, ns] = (await writeForm("dnsbl", list, { ns: "ns1.example.org" })).toString().split("\n");
  expect(soa).toContain("$SOA 300 ns1.example.org. ");
  expect(ns).toBe("$NS 300 ns1.example.org.");
  for (const name of ["ns1.example.org.", "ns1 ns2", "ns1\n1.2.3.0/24", "-a", "a".repeat(300), ""]) {
    await expect(writeForm("dnsbl", list, { ns: name })).rejects.toThrow("ns takes a host name");
  }
});

test("a response policy zone has a trigger an address, and a serial number that grows with each refresh", async () => {
  expect((await writeForm("rpz", list)).toString().split("\n")).toEqual([
    "$TTL 300",
    `@ IN SOA localhost. root.localhost. ${Date.UTC(2026, 10, 20, 14, 5) / 1000} 60 60 604800 300`,
    "@ IN NS localhost.",
    "32.4.3.2.1.rpz-ip IN CNAME .",
    "32.7.113.0.203.rpz-ip IN CNAME .",
    "32.255.255.255.255.rpz-ip IN CNAME .",
    "",
  ]);
});
