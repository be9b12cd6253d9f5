import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { expect, test } from "vitest";
import { readKnownLists } from "./known-lists.ts";
import { parseMassScanners } from "./mass-scanner-file.ts";

async function read(lines: readonly string[], kind: "service" | "actor" = "actor") {
  const read = await parseMassScanners(kind, "mass_scanner", lines.join("\n"), await readKnownLists("actor"));
  const lists = read.map(({ list: { listId, name, networks, trustLevel } }) => {
    return [
      listId,
      name,
      trustLevel,
      networks.map(({ first, length }) => `${numberToIpv4(first)}/${length}`).join(" "),
    ];
  });
  return { lists, rejected: read.flatMap(({ rejected }) => rejected) };
}

test("each operator becomes a list of the addresses whose lines name it, by host name or in words", async () => {
  const { lists, rejected } = await read([
    "# 5.9.9.9 # a comment",
    "",
    "5.0.0.1 # census1.shodan.io",
    "5.0.0.2 # other.census.shodan.io.",
    "5.0.1.0/24 # cortex xpanse",
    "5.0.2.1\t# Probe of Example",
    "5.0.3.1 # scan.example.co.uk",
    "5.0.4.1 #scan7.example.org",
  ]);
  expect(rejected).toEqual([]);
  expect(lists).toEqual([
    ["mass_scanner:shodan-io", "Shodan", "1", "5.0.0.1/32 5.0.0.2/32"],
    ["mass_scanner:cortex-xpanse", expect.stringContaining("Palo Alto"), "1", "5.0.1.0/24"],
    ["mass_scanner:probe-of-example", "Probe of Example", "3", "5.0.2.1/32"],
    ["mass_scanner:example-co-uk", "example.co.uk", "3", "5.0.3.1/32"],
    ["mass_scanner:example-org", "example.org", "3", "5.0.4.1/32"],
  ]);
});

test("a line that names no operator, or no network, is rejected once", async () => {
  const lines = ["5.0.0.1 # 5.0.0.7", "5.0.0.2 #", "5.0.0.3", "5.0.0.0/4 # a.example.org", "5.0.0.300 # a.example.org"];
  const { lists, rejected } = await read([...lines, "5.0.0.9 # a.example.org", "5.0.0.8 # b.example.net"]);
  expect(lists).toHaveLength(2);
  expect(rejected).toEqual([
    { entry: "mass_scanner: 5.0.0.1 # 5.0.0.7", reason: "it names no operator" },
    { entry: "mass_scanner: 5.0.0.2 #", reason: "it names no operator" },
    { entry: "mass_scanner: 5.0.0.3", reason: "it names no operator" },
    { entry: "mass_scanner: 5.0.0.0/4 # a.example.org", reason: expect.stringMatching(/beyond|wider/) },
    { entry: "mass_scanner: 5.0.0.300 # a.example.org", reason: expect.stringContaining("not an IPv4 address") },
  ]);
});

test("a file without such a line is no list, and no such file is one of services", async () => {
  await expect(read(["hello", "# 5.0.0.1 # x"])).rejects.toThrow(/no line like/);
  await expect(read(["5.0.0.1 # a.example.org"], "service")).rejects.toThrow("noisefloor actors import");
});
