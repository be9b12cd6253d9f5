import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openNetworkTable } from "./network-table.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-networks-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function open(lines: readonly string[]) {
  const path = join(folder, "networks.csv");
  await writeFile(path, lines.join("\n"));
  return openNetworkTable("networks", path);
}

const line = (first: string, last: string, rest: string) => `${ipv4ToNumber(first)},${ipv4ToNumber(last)},${rest}`;

test("an address has the number and the name of the network whose range it is in", async () => {
  const table = await open([
    line("5.0.0.0", "5.0.255.255", "64500,Plain Telecom"),
    line("5.1.0.0", "5.1.0.255", '64501,"Comma, Inc. ""CI"""'),
    line("5.1.1.0", "5.1.1.0", "64502,"),
    line("223.0.0.0", "223.255.255.255", "4200000000,Last"),
    "",
  ]);
  const plain = { asn: 64_500, organization: "Plain Telecom" };
  expect(table.lookUp("5.0.0.0")).toEqual(plain);
  expect(table.lookUp("5.0.255.255")).toEqual(plain);
  expect(table.lookUp("5.1.0.7")).toEqual({ asn: 64_501, organization: 'Comma, Inc. "CI"' });
  expect(table.lookUp("5.1.1.0")).toEqual({ asn: 64_502 });
  expect(table.lookUp("223.255.255.255")).toEqual({ asn: 4_200_000_000, organization: "Last" });
  for (const ip of ["4.255.255.255", "5.1.1.1", "222.255.255.255"]) expect(table.lookUp(ip)).toBeUndefined();
});

test("where ranges overlap, the one that starts later counts", async () => {
  const table = await open([line("5.0.0.0", "5.0.2.255", "64500,One"), line("5.0.1.0", "5.0.3.255", "64501,Two")]);
  expect(table.lookUp("5.0.0.255")).toEqual({ asn: 64_500, organization: "One" });
  expect(table.lookUp("5.0.1.0")).toEqual({ asn: 64_501, organization: "Two" });
});

test("range 0 is no network", async () => {
  const table = await open([line("5.0.0.0", "5.0.0.255", "0,Not routed")]);
  expect(table.lookUp("5.0.0.1")).toBeUndefined();
});

test.each([
  ["a header", ["first,last,asn,name"]],
  ["a range that ends before it starts", [line("5.0.1.0", "5.0.0.0", "64500,One")]],
  ["ranges that do not ascend", [line("5.0.1.0", "5.0.1.255", "1,One"), line("5.0.0.0", "5.0.0.255", "2,Two")]],
  ["addresses in dotted decimal", ["5.0.0.0,5.0.0.255,64500,One"]],
  ["numbers beyond 32 bits", ["0,4294967296,64500,One"]],
  ["a line that was cut", ["0,42"]],
  ["nothing", []],
])("a file with %s is rejected", async (_what, lines) => {
  await expect(open(lines)).rejects.toThrow(/not an ascending range|empty/);
});
