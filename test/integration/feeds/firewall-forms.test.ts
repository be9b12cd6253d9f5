import { lastAddress, numberToIpv4, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { FORMS } from "@noisefloor/query/feeds/forms/forms.ts";
import { IPREP_CATEGORIES_CSV } from "@noisefloor/query/feeds/forms/iprep.ts";
import { expect, test } from "vitest";
import { FEED, makeChanges, makeList, writeForm } from "../../support/builders/feed.ts";
import { seeded } from "../../support/builders/random.ts";

const text = async (...args: Parameters<typeof writeForm>) => (await writeForm(...args)).toString();
const open = (name: string, query: Record<string, string>) => FORMS.find((form) => form.name === name)?.open(query);
const before = makeList(["1.0.0.1", "9.9.9.9"]);
const after = makeList(["1.0.0.1", "1.0.0.2"]);

test("an aggregated list has exactly the listed addresses, in the fewest blocks", async () => {
  const random = seeded(9);
  for (let round = 0; round < 200; round++) {
    const base = random.pick([0, 0xffffff00, random.int(0, 0xffffff00)]);
    const listed = new Set(Array.from({ length: random.int(0, 300) }, () => numberToIpv4(base + random.int(0, 255))));
    const lines = (await text("txt", makeList(listed), { aggregate: "true" })).split("\n").slice(0, -1);
    const blocks = lines.map((line) => {
      const network = parseNetwork(line);
      if (typeof network === "string") throw new Error(`${line}: ${network}`);
      return network;
    });
    const covered = blocks.flatMap((block) =>
      Array.from({ length: lastAddress(block) - block.first + 1 }, (_, more) => numberToIpv4(block.first + more)),
    );
    expect(covered).toEqual(Array.from(makeList(listed).addresses, numberToIpv4));
    // Fewest: no two blocks are the halves of a wider one.
    const names = new Set(blocks.map(({ first, length }) => `${first}/${length}`));
    const halves = blocks.filter(({ first, length }) => {
      const size = 2 ** (32 - length);
      return first % (2 * size) === 0 && names.has(`${first + size}/${length}`);
    });
    expect(halves).toEqual([]);
  }
});

test("an aggregated list has single addresses without a prefix length, and the ends of the address space", async () => {
  const list = makeList(["0.0.0.0", "0.0.0.1", "9.9.9.9", "255.255.255.254", "255.255.255.255"]);
  expect(await text("txt", list, { aggregate: "true" })).toBe("0.0.0.0/31\n9.9.9.9\n255.255.255.254/31\n");
});

test("a script for nftables replaces a set in one transaction, changes add before they delete", async () => {
  expect(await text("nft", after)).toBe(
    [
      "add table inet noisefloor",
      "add set inet noisefloor recent { type ipv4_addr; }",
      "flush set inet noisefloor recent",
      "add element inet noisefloor recent { 1.0.0.1,1.0.0.2, }",
      "",
    ].join("\n"),
  );
  expect(await text("nft", makeChanges(before, after), { table: "edge", set: "bad" })).toBe(
    [
      "add element inet edge bad { 9.9.9.9, }",
      "delete element inet edge bad { 9.9.9.9, }",
      "add element inet edge bad { 1.0.0.2, }",
      "",
    ].join("\n"),
  );
  expect(await text("nft", makeList([]))).not.toContain("add element");
  expect(await text("nft", makeChanges(after, after))).toBe("");
});

test("a script for nftables with a hook also makes a chain with one rule, which changes need, too", async () => {
  const chain = "chain inet noisefloor bad.input";
  const drop = [
    `add ${chain} { type filter hook input priority -10; }`,
    `flush ${chain}`,
    `add rule${chain.slice(5)} ip saddr @bad drop`,
  ].join("\n");
  for (const aggregate of ["true", "false"]) {
    const script = await text("nft", after, { set: "bad", hook: "input", aggregate });
    expect(script.indexOf(drop)).toBeGreaterThan(script.indexOf("add set inet noisefloor bad {"));
  }
  expect(await text("nft", makeChanges(after, after), { set: "bad", hook: "input" })).toBe(`${drop}\n`);
  expect(() => open("nft", { hook: "ingress" })).toThrow("Invalid parameter: hook takes input, forward");
});

test("names of tables and sets cannot carry other statements", () => {
  const injections = ["a b", "a;flush ruleset", "a\nflush ruleset", "a{", "", "1a", "a".repeat(65), "ä", "$(x)"];
  for (const name of injections) {
    expect(() => open("nft", { table: name }), name).toThrow("Invalid parameter: table takes");
    expect(() => open("nft", { set: name }), name).toThrow("Invalid parameter: set takes");
  }
  for (const name of ["a b", "a\nadd x", "", "-exist", "a".repeat(28)]) {
    expect(() => open("ipset", { set: name }), name).toThrow("Invalid parameter: set takes");
  }
});

test("an ipset is filled under another name and swapped", async () => {
  const kind = "hash:ip family inet maxelem 1048576 -exist";
  expect((await text("ipset", after)).split("\n")).toEqual([
    `create recent ${kind}`,
    `create recent.new ${kind}`,
    "flush recent.new",
    "add recent.new 1.0.0.1",
    "add recent.new 1.0.0.2",
    "swap recent.new recent",
    "destroy recent.new",
    "",
  ]);
  expect(await text("ipset", makeChanges(before, after), { set: "bad" })).toBe(
    "del bad 9.9.9.9 -exist\nadd bad 1.0.0.2 -exist\n",
  );
  const long = makeList(["1.0.0.1"], {}, { ...FEED, name: "n".repeat(63) });
  expect(await text("ipset", long)).toContain(`swap ${"n".repeat(27)}.new ${"n".repeat(27)}\n`);
});

test("feeds never write into sets of each other", async () => {
  const setsOf = async (name: string, form: string, query = {}) => {
    const written = await text(form, makeList(["1.0.0.1"], {}, { ...FEED, name }), query);
    return Array.from(written.matchAll(/^(?:create|add set inet noisefloor) (\S+)/gm), ([, set = ""]) => set);
  };
  const names = ["edge", "edge-new", "edge-blocks", "edge--blocks", "3-days", "feed-3-days"];
  const sets = await Promise.all(
    names.flatMap((name) => [
      setsOf(name, "ipset").then((each) => each.map((set) => `ipset ${set}`)),
      setsOf(name, "nft"),
      setsOf(name, "nft", { aggregate: "true" }),
    ]),
  );
  expect(sets.flat()).toHaveLength(4 * names.length);
  expect(new Set(sets.flat()).size).toBe(4 * names.length);
});

test("a reputation list has a category and a score for each address, and its categories have a file", async () => {
  const list = makeList(["1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4"], {
    "1.0.0.2": { classification: "suspicious" },
    "1.0.0.3": { classification: "unknown" },
    "1.0.0.4": { classification: "benign" },
  });
  expect(await text("iprep", list)).toBe("1.0.0.1/32,1,120\n1.0.0.2/32,2,80\n1.0.0.3/32,3,40\n1.0.0.4/32,4,10\n");
  expect(IPREP_CATEGORIES_CSV.split("\n").map((line) => line.split(",").slice(0, 2).join())).toEqual([
    "1,NFMalicious",
    "2,NFSuspicious",
    "3,NFUnknown",
    "4,NFBenign",
    "50,NFCallback",
    "",
  ]);
});

test("changes are refused where a form has none", () => {
  expect(open("iprep", {})?.writeChanges).toBeUndefined();
  expect(open("txt", { aggregate: "true" })?.writeChanges).toBeUndefined();
  expect(open("nft", { aggregate: "true" })?.writeChanges).toBeUndefined();
});
