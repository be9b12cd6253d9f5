import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ipv4ToNumber, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { IPREP_CATEGORIES_CSV } from "@noisefloor/query/feeds/forms/iprep.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeFolder } from "../sensors/sensor.ts";
import { dnsQuery, makeCapture, udpPacket } from "../support/builders/capture.ts";
import { makeList, writeForm } from "../support/builders/feed.ts";
import { unpackDebian } from "../support/programs.ts";

const HOME = "203.0.113.7";
const SETTINGS = (folder: string) => `%YAML 1.1
---
vars: { address-groups: { HOME_NET: "[${HOME}/32]", EXTERNAL_NET: "!$HOME_NET" } }
reputation-categories-file: ${folder}/categories.txt
default-reputation-path: ${folder}
reputation-files: [recent.list, others.list]
outputs: [{ eve-log: { enabled: yes, filetype: regular, filename: eve.json, types: [alert] } }]
`;
const RULES = ["NFMalicious,>,100", "NFSuspicious,>,50", "NFUnknown,>,20", "NFBenign,>,1"]
  .map(
    (condition, index) =>
      `alert ip any any -> any any (msg:"${condition.split(",")[0]}"; iprep:src,${condition}; sid:${index + 1};)\n`,
  )
  .join("");
const alertSchema = z.object({ src_ip: z.string(), alert: z.object({ signature: z.string() }) });

/** Lists that another source gives, in categories of its own. */
type Others = { readonly list: string; readonly categories: string; readonly rules: string };

/** @returns the address and the rule of each alert on packets from these senders. */
async function alertsOn(senders: readonly string[], list: Buffer, others: Others): Promise<string[][]> {
  const suricata = await unpackDebian("suricata-trixie", "trixie", ["suricata"]);
  const folder = await makeFolder({
    "categories.txt": IPREP_CATEGORIES_CSV + others.categories,
    "recent.list": list.toString(),
    "others.list": others.list,
    "local.rules": RULES + others.rules,
  });
  const began = Date.now() - 60_000;
  const packets = senders.map((from, index) =>
    udpPacket(began + index, { from, to: HOME, sourcePort: 41_000, destinationPort: 53 }, dnsQuery("example.com")),
  );
  await writeFile(join(folder, "suricata.yaml"), SETTINGS(folder));
  await writeFile(join(folder, "capture.pcap"), makeCapture(packets));
  const settings = ["classification", "reference"].flatMap((name) => [
    "--set",
    `${name}-config-file=${join(suricata.root, `etc/suricata/${name}.config`)}`,
  ]);
  const options = ["-c", "suricata.yaml", "-r", "capture.pcap", "-S", "local.rules"].map((option) =>
    option.startsWith("-") ? option : join(folder, option),
  );
  await suricata.runUnpacked("usr/bin/suricata", [...options, "-l", folder, ...settings]);
  return (await readFile(join(folder, "eve.json"), "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => alertSchema.parse(JSON.parse(line)))
    .map(({ src_ip, alert }) => [src_ip, alert.signature])
    .sort();
}

test("Suricata 7 alerts on each listed address by its classification, and on no other", {
  timeout: 600_000,
}, async () => {
  const known = {
    "192.175.48.1": { classification: "malicious" },
    "192.175.48.2": { classification: "suspicious" },
    "192.175.48.3": { classification: "unknown" },
    "192.175.48.4": { classification: "benign" },
  } as const;
  const list = await writeForm("iprep", makeList(Object.keys(known), known));
  const others = { list: "", categories: "", rules: "" };
  expect(await alertsOn([...Object.keys(known), "192.175.48.5"], list, others)).toEqual([
    ["192.175.48.1", "NFMalicious"],
    ["192.175.48.2", "NFSuspicious"],
    ["192.175.48.3", "NFUnknown"],
    ["192.175.48.4", "NFBenign"],
  ]);
});

test("Suricata 7 takes a large list whole, and keeps what other lists say of an address's network", {
  timeout: 600_000,
}, async () => {
  const first = ipv4ToNumber("11.0.0.0");
  const listed = Array.from({ length: 300_000 }, (_, index) => numberToIpv4(first + 97 * index));
  const last = listed.at(-1) ?? "";
  const list = await writeForm("iprep", makeList(listed));
  const others = {
    list: `${last}/24,5,50\n`,
    categories: "5,Partner,of another list\n",
    rules: 'alert ip any any -> any any (msg:"Partner"; iprep:src,Partner,>,1; sid:9;)\n',
  };
  expect(await alertsOn(["11.0.0.0", "11.0.0.1", last], list, others)).toEqual([
    ["11.0.0.0", "NFMalicious"],
    [last, "NFMalicious"],
    [last, "Partner"],
  ]);
});
