import { mkdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeFolder, startSensor } from "../sensors/sensor.ts";
import { dnsQuery, makeCapture, tcpConversation, tlsHello, udpPacket } from "../support/builders/capture.ts";
import { CALLBACK_FEED, makeList, writeForm } from "../support/builders/feed.ts";
import { eventually } from "../support/eventually.ts";
import { unpackDebian } from "../support/programs.ts";
import { type FeedAnswer, linesFor, runLines, startFeedServer } from "../support/recipe-runs.ts";

const HOME = "203.0.113.7";
const SETTINGS = (folder: string) => `%YAML 1.1
---
vars: { address-groups: { HOME_NET: "[${HOME}/32]" } }
default-rule-path: ${folder}
rule-files: [noisefloor-edge.rules]
logging: { default-log-level: info, outputs: [{ console: { enabled: yes } }, { file: { enabled: yes, filename: suricata.log } }] }
outputs: [{ eve-log: { enabled: yes, filetype: regular, filename: eve.json, types: [alert] } }]
app-layer:
  protocols:
    dns: { udp: { enabled: yes, detection-ports: { dp: 53 } }, tcp: { enabled: yes, detection-ports: { dp: 53 } } }
    tls: { enabled: yes, detection-ports: { dp: 443 } }
    http: { enabled: yes }
`;
const alertSchema = z.object({ src_port: z.int(), alert: z.object({ signature: z.string() }) });

/** What Suricata downloads of a list of these hosts. */
async function formsOf(...hosts: readonly string[]): Promise<FeedAnswer> {
  const list = makeList(hosts, {}, CALLBACK_FEED);
  const forms = {
    rules: (await writeForm("rules", list)).toString(),
    dataset: (await writeForm("dataset", list)).toString(),
    "dataset?kind=address": (await writeForm("dataset", list, { kind: "address" })).toString(),
  };
  return { kind: "list", forms };
}

const NAMES = ["called.example", "CALLED.example", "not-called.example"];
const ADDRESSES = ["45.0.0.9", "45.0.0.10"];
/** A machine that asks for each name, requests it by HTTP and by TLS, and connects to each address. */
function trafficOf(at: number, firstPort: number) {
  let port = firstPort;
  let time = at;
  const to = (address: string, destinationPort: number) => {
    time += 100;
    return { from: HOME, to: address, sourcePort: port++, destinationPort };
  };
  const said = (request: string) => ({ request, response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" });
  const packets = NAMES.flatMap((name) => [
    udpPacket(time, to("45.0.1.1", 53), dnsQuery(name)),
    ...tcpConversation(time, to("45.0.1.2", 80), said(`GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`)),
    ...tcpConversation(time, to("45.0.1.3", 443), { request: tlsHello(name), response: "" }),
  ]);
  return [...packets, ...ADDRESSES.flatMap((address) => tcpConversation(time, to(address, 4_444), said("x")))];
}

test("Suricata 7 alerts on listed names and addresses alone, also after an update of the list while it runs", {
  timeout: 600_000,
}, async () => {
  const suricata = await unpackDebian("suricata-trixie", "trixie", ["suricata"]);
  const folder = await makeFolder({});
  await mkdir(join(folder, "captures"));
  await writeFile(join(folder, "suricata.yaml"), SETTINGS(folder));
  const feed = await startFeedServer();
  const lines = linesFor("Suricata", feed.url, folder, "callbacks");
  const isReloaded = `until grep -q 'rule reload complete' ${folder}/suricata.log; do sleep 0.2; done`;
  const runOnce = () =>
    runLines(lines, { suricatasc: `kill -USR2 "$(cat ${folder}/pid)" && timeout 60 sh -c "${isReloaded}"` });
  feed.give(await formsOf("called.example", "45.0.0.9"));
  // Suricata does not run yet, so its reload fails; the files are there all the same.
  expect(await runOnce()).toBe(false);

  const settings = ["classification", "reference"].flatMap((name) => [
    "--set",
    `${name}-config-file=${join(suricata.root, `etc/suricata/${name}.config`)}`,
  ]);
  const [program, ...args] = suricata.commandOf("usr/bin/suricata");
  const files = ["-c", join(folder, "suricata.yaml"), "-r", join(folder, "captures"), "-l", folder];
  const options = [...files, "--pcap-file-continuous", "--pidfile", join(folder, "pid")];
  await startSensor(program, [...args, ...options, ...settings], { folder, ready: /Starting directory run/ });
  let captures = 0;
  /** Suricata reads captures in the order of their times, those older than half a minute. */
  const alertsOf = async (firstPort: number, count: number): Promise<string[]> => {
    const at = new Date(Date.now() - 300_000 + 60_000 * captures++);
    const file = join(folder, "capture.tmp");
    await writeFile(file, makeCapture(trafficOf(at.getTime(), firstPort)));
    await utimes(file, at, at);
    await rename(file, join(folder, "captures", `${captures}.pcap`));
    return eventually(async () => {
      const alerts = (await readFile(join(folder, "eve.json"), "utf8")).split("\n").filter((line) => line !== "");
      const ours = alerts
        .map((line) => alertSchema.parse(JSON.parse(line)))
        .filter(({ src_port: port }) => port >= firstPort);
      expect(ours.length).toBeGreaterThanOrEqual(count);
      return ours.map(({ src_port: port, alert }) => `${port - firstPort} ${alert.signature.split(" was ")[1]}`).sort();
    });
  };
  const [asked, requested, greeted, sent] = ["asked for", "named in a request", "named in a TLS hello", "sent to"];
  const ofCalled = [`0 ${asked}`, `1 ${requested}`, `2 ${greeted}`, `3 ${asked}`, `4 ${requested}`, `5 ${greeted}`];
  expect(await alertsOf(41_000, 7)).toEqual([...ofCalled, `9 ${sent}`]);
  for (const kind of ["error", "page", "nothing"] as const) {
    feed.give({ kind });
    expect([kind, await runOnce()]).toEqual([kind, false]);
  }
  feed.give(await formsOf("not-called.example", "45.0.0.10"));
  expect(await runOnce()).toBe(true);
  expect(await alertsOf(42_000, 4)).toEqual([`10 ${sent}`, `6 ${asked}`, `7 ${requested}`, `8 ${greeted}`]);
});
