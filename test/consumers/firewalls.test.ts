import { join } from "node:path";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeFolder } from "../sensors/sensor.ts";
import { FEED, makeChanges, makeList, writeForm } from "../support/builders/feed.ts";
import { seeded } from "../support/builders/random.ts";
import { runInNamespace, unpackFirewalls } from "./network-namespace.ts";

const random = seeded(62);
/** Some in a row, so that there are blocks. */
const makeAddresses = () =>
  Array.from({ length: 3_000 }, () => random.int(0x01000000, 0xdfffffff)).flatMap((first) =>
    Array.from({ length: random.int(1, 9) }, (_, more) => numberToIpv4(first + more)),
  );
const kept = makeAddresses();
const before = makeList(new Set([...kept, ...makeAddresses()]));
const after = makeList(new Set([...kept, ...makeAddresses()]));
const ipsOf = ({ addresses }: { readonly addresses: Uint32Array }) => Array.from(addresses, numberToIpv4);

const setSchema = z.object({
  nftables: z.array(z.object({ set: z.object({ elem: z.array(z.unknown()).optional() }) }).partial()),
});
const prefixSchema = z.object({ prefix: z.object({ addr: z.string(), len: z.int() }) });

/** The elements of a set in numeric order, as `nft -j list set` says them. */
function elementsOf(output: string): string[] {
  const elements = setSchema.parse(JSON.parse(output)).nftables.flatMap(({ set }) => set?.elem ?? []);
  return elements.map((element) => {
    if (typeof element === "string") return element;
    const { prefix } = prefixSchema.parse(element);
    return `${prefix.addr}/${prefix.len}`;
  });
}
const numeric = (ips: readonly string[]) => ipsOf(makeList(ips));

test("nftables has exactly the listed addresses after a list and after changes, also run twice", {
  timeout: 600_000,
}, async () => {
  const { commandOf } = await unpackFirewalls();
  const folder = await makeFolder({
    "list.nft": (await writeForm("nft", before)).toString(),
    "changes.nft": (await writeForm("nft", makeChanges(before, after))).toString(),
    "after.nft": (await writeForm("nft", after)).toString(),
    "empty.nft": (await writeForm("nft", makeList([]))).toString(),
  });
  const script = `cd ${folder}
nft -f list.nft
nft add chain inet noisefloor input '{ type filter hook input priority 0; }'
nft add rule inet noisefloor input ip saddr @recent drop
for file in list list changes changes after empty after; do
  nft -f $file.nft
  nft -j list set inet noisefloor recent
done
nft list chain inet noisefloor input`;
  const output = await runInNamespace(script, { nft: commandOf("usr/sbin/nft") });
  const [lists, chain] = [output.match(/^\{.*$/gm) ?? [], output.slice(output.lastIndexOf("\ntable"))];
  expect(lists.map(elementsOf).map(numeric)).toEqual(
    [before, before, after, after, after, makeList([]), after].map(ipsOf),
  );
  expect(chain).toContain("ip saddr @recent drop");
});

test("nftables has exactly the blocks of an aggregated list, in a set beside the other one", {
  timeout: 600_000,
}, async () => {
  const { commandOf } = await unpackFirewalls();
  const written = async (list: typeof before, query: Record<string, string>) =>
    (await writeForm("nft", list, query)).toString();
  const folder = await makeFolder({
    "plain.nft": await written(before, { table: "edge" }),
    "before.nft": await written(before, { table: "edge", aggregate: "true" }),
    "after.nft": await written(after, { table: "edge", aggregate: "true" }),
  });
  const script = `cd ${folder}; nft -f plain.nft; nft -f before.nft; nft -f after.nft; nft -f after.nft
nft -j list set inet edge recent.blocks
nft add chain inet edge input '{ type filter hook input priority 0; }'
nft add rule inet edge input ip saddr @recent.blocks drop`;
  const output = await runInNamespace(script, { nft: commandOf("usr/sbin/nft") });
  const blocks = (await writeForm("txt", after, { aggregate: "true" })).toString().trimEnd().split("\n");
  expect(elementsOf(output).sort()).toEqual(blocks.sort());
  expect(blocks.length).toBeLessThan(after.addresses.length / 2);
});

test("nftables loads a feed whose name begins with a digit or has hyphens", { timeout: 600_000 }, async () => {
  const { commandOf } = await unpackFirewalls();
  for (const [name, set] of [
    ["3-days", "_3_days"],
    ["tag-ssh-bruteforcer", "tag_ssh_bruteforcer"],
    ["a".repeat(63), "a".repeat(63)],
  ] as const) {
    const list = makeList(["192.175.48.9"], {}, { ...FEED, name });
    const folder = await makeFolder({ "list.nft": (await writeForm("nft", list)).toString() });
    const output = await runInNamespace(`nft -f ${join(folder, "list.nft")}; nft -j list set inet noisefloor ${set}`, {
      nft: commandOf("usr/sbin/nft"),
    });
    expect(elementsOf(output)).toEqual(["192.175.48.9"]);
  }
});

test("ipset has exactly the listed addresses after a list and after changes, also run twice", {
  timeout: 600_000,
}, async () => {
  const { commandOf } = await unpackFirewalls();
  const head = { ...FEED, name: "a-feed-with-a-name-of-more-than-27-letters" };
  const [first, second] = [before, after].map(({ addresses }) =>
    makeList(Array.from(addresses, numberToIpv4), {}, head),
  );
  if (first === undefined || second === undefined) throw new Error("two lists were made");
  const folder = await makeFolder({
    list: (await writeForm("ipset", first)).toString(),
    changes: (await writeForm("ipset", makeChanges(first, second))).toString(),
    after: (await writeForm("ipset", second)).toString(),
    empty: (await writeForm("ipset", makeList([], {}, head))).toString(),
    // A restore that was killed leaves its new set behind.
    "broken-off": (await writeForm("ipset", first)).toString().split("\n").slice(0, 900).join("\n"),
  });
  const script = `cd ${folder}
for file in list list changes changes broken-off after empty after; do
  ipset restore < $file
  ipset save ${head.name.slice(0, 27)}
  echo ---
done`;
  const output = await runInNamespace(script, { ipset: commandOf("usr/sbin/ipset") });
  const lists = output
    .split("---\n")
    .slice(0, -1)
    .map((saved) => Array.from(saved.matchAll(/^add \S+ (\S+)$/gm), ([, ip = ""]) => ip));
  expect(lists.map(numeric)).toEqual([first, first, second, second, second, second, makeList([]), second].map(ipsOf));
});
