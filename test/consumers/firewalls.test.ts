import { join } from "node:path";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { RECIPES } from "@noisefloor/domain/feeds/recipes.ts";
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

/** Answers every request as the file `mode` says: with the file that it names, with half of it, or with an error. */
const SERVER = `const fs = require("node:fs");
require("node:http").createServer((_, response) => {
  const [file, how] = fs.readFileSync("mode", "utf8").trim().split(" ");
  const body = file === "error" ? "" : fs.readFileSync(file);
  const cursor = file === "nothing" || file === "page" ? {} : { "feed-cursor": "cursor" };
  response.writeHead(file === "error" ? 503 : 200, { "content-length": body.length, ...cursor });
  if (how !== "cut") return response.end(body);
  response.write(body.subarray(0, body.length / 2));
  setTimeout(() => response.destroy(), 50);
}).listen(8080, "127.0.0.1", () => fs.writeFileSync("ready", ""));`;

const [LISTED, LEAVING, OTHER] = ["192.175.48.6", "192.175.48.7", "192.175.48.8"];

/** What happens before a run of the line, what it downloads, whether it succeeds, and what is blocked afterwards. */
const RUNS = [
  ["", "first", "ran", [LISTED, LEAVING]],
  ["", "first", "ran", [LISTED, LEAVING]],
  ["", "error", "failed", [LISTED, LEAVING]],
  ["", "nothing", "failed", [LISTED, LEAVING]],
  ["", "first cut", "failed", [LISTED, LEAVING]],
  ["", "page", "failed", [LISTED, LEAVING]],
  ["reboot", "error", "failed", [LISTED, LEAVING]],
  ["flush", "page", "failed", [LISTED, LEAVING]],
  ["flush", "second", "ran", [LISTED]],
  ["interrupt", "second", "ran", [LISTED]],
  ["", "empty", "ran", []],
] as const;

test.each([
  {
    consumer: "nftables",
    reboot: "nft flush ruleset",
    // A reload of /etc/nftables.conf, whose last line includes the last list that was loaded.
    flush: `printf 'flush ruleset\\ninclude "%s/noisefloor_*.nft"\\n' "$PWD" > conf; nft -f conf
nft list chain inet noisefloor noisefloor_edge.prerouting > /dev/null`,
    interrupt: "head -c 100 second > noisefloor_edge.nft.tmp",
    rules: 'nft list ruleset | grep -c "saddr @noisefloor_edge drop" || true',
  },
  {
    consumer: "ipset",
    reboot: "iptables -F; ipset destroy",
    flush: "iptables -F",
    interrupt: "head -n 3 second > part; ipset restore < part",
    rules: "iptables -S INPUT | grep -c 'match-set noisefloor-edge src -j DROP' || true",
  },
])(
  "one line for $consumer blocks exactly the list, whatever was flushed and whatever the download was",
  {
    timeout: 600_000,
  },
  async ({ consumer, rules, ...before }) => {
    const { root, commandOf } = await unpackFirewalls();
    const feed = { url: "http://127.0.0.1:8080", name: "edge", id: "", token: "nff_token" };
    const recipe = RECIPES.find((one) => one.consumer === consumer);
    const [form, set] =
      consumer === "ipset" ? (["ipset", "noisefloor-edge"] as const) : (["nft", "noisefloor_edge"] as const);
    const query = form === "nft" ? { set, hook: "prerouting" } : { set };
    const written = async (ips: readonly string[]) => (await writeForm(form, makeList(ips), query)).toString();
    const folder = await makeFolder({
      first: await written([LISTED, LEAVING]),
      second: await written([LISTED]),
      empty: await written([]),
      nothing: "",
      page: "<html><body>Log in</body></html>\n",
      mode: "first",
      "server.cjs": SERVER,
    });
    const line = recipe?.lines(feed).replaceAll("/var/lib/", `${folder}/`) ?? "";
    const steps = RUNS.map(
      ([event, mode]) => `${event === "" ? ":" : before[event]}
echo "${mode}" > mode
if { ${line}
}; then echo ran; else echo failed; fi
${rules}
echo nothing > mode
for ip in ${LISTED} ${LEAVING} ${OTHER}; do
  curl -s -o answer -m 0.5 --interface $ip http://127.0.0.1:8080/ || echo $ip
done
echo ---`,
    );
    const script = `cd ${folder}
ip link set lo up
for ip in ${LISTED} ${LEAVING} ${OTHER}; do ip addr add $ip/32 dev lo; done
${process.execPath} server.cjs &
trap "kill $!" EXIT
until [ -e ready ]; do sleep 0.1; done
${steps.join("\n")}`;
    const output = await runInNamespace(script, {
      nft: commandOf("usr/sbin/nft"),
      ipset: commandOf("usr/sbin/ipset"),
      ip: commandOf("usr/bin/ip"),
      iptables: [
        `env XTABLES_LIBDIR=${root}/usr/lib/x86_64-linux-gnu/xtables`,
        ...commandOf("usr/sbin/xtables-nft-multi"),
        "iptables",
      ],
    });
    const seen = output
      .split("---\n")
      .slice(0, -1)
      .map((step) => step.trim().split("\n"));
    expect(seen).toEqual(RUNS.map(([, , outcome, blocked]) => [outcome, "1", ...blocked]));
  },
);
