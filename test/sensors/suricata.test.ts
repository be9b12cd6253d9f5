import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dnsQuery, makeCapture, portUnreachable, tcpConversation, udpPacket } from "../support/builders/capture.ts";
import { unpackDebian } from "../support/programs.ts";
import { makeFolder, replayLog, SCANNER } from "./sensor.ts";

const POT = "203.0.113.7";
const SETTINGS = `%YAML 1.1
---
sensor-name: tap-1
vars: { address-groups: { HOME_NET: "[${POT}/32]", EXTERNAL_NET: "!$HOME_NET" } }
outputs: [{ eve-log: { enabled: yes, filetype: regular, filename: eve.json, types: [http, dns, flow] } }]
app-layer:
  protocols:
    http: { enabled: yes }
    dns: { udp: { enabled: yes, detection-ports: { dp: 53 } } }
`;

test("a capture that Suricata 7 reads twice is stored once, with its own times", { timeout: 600_000 }, async () => {
  const suricata = await unpackDebian("suricata-trixie", "trixie", ["suricata"]);
  // Suricata's flow_id has eight seconds of a flow's start: the first flow's has zeros there.
  const began = Math.floor(Date.now() / 8_000) * 8_000 - 3_600_000;
  const request = `GET /setup.cgi HTTP/1.1\r\nHost: ${POT}\r\nUser-Agent: probe/1\r\n\r\n`;
  const response = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  const toPot = { from: SCANNER, to: POT };
  const ours = { from: POT, to: SCANNER, sourcePort: 53_000, destinationPort: 33_434 };
  const traced = udpPacket(began + 9_000, ours, Buffer.alloc(8));
  const unanswered = { from: "192.175.48.10", to: POT, sourcePort: 40_000, destinationPort: 80 };
  const forged = { ...unanswered, from: "192.175.48.11" };
  const packets = [
    ...tcpConversation(began, { ...toPot, sourcePort: 40_000, destinationPort: 80 }, { request, response }),
    udpPacket(began + 5_000, { ...toPot, sourcePort: 41_000, destinationPort: 53 }, dnsQuery("version.example.com")),
    // Suricata writes the request when it gives up waiting, with another time.
    ...tcpConversation(began + 7_000, unanswered, { request, response }).slice(0, 4),
    // Whoever did not send the SYN never answers the SYN-ACK.
    ...tcpConversation(began + 8_000, forged, { request, response }).slice(0, 2),
    traced,
    portUnreachable(began + 9_010, toPot, traced),
  ];
  const folder = await makeFolder({ "suricata.yaml": SETTINGS, "first/empty": "", "second/empty": "" });
  const capture = join(folder, "capture.pcap");
  await writeFile(capture, makeCapture(packets));
  const readCapture = async (run: string) => {
    const files = ["-c", join(folder, "suricata.yaml"), "-r", capture, "-l", join(folder, run), "-S", "/dev/null"];
    const lists = ["classification", "reference"].map(
      (list) => `${list}-config-file=${join(suricata.root, `etc/suricata/${list}.config`)}`,
    );
    await suricata.runUnpacked("usr/bin/suricata", [...files, ...lists.flatMap((list) => ["--set", list])]);
    return readFile(join(folder, run, "eve.json"), "utf8");
  };
  const logs = [await readCapture("first"), await readCapture("second")];
  const [flows = [], others] = logs.map((log) => [...log.matchAll(/"flow_id":(\d+)/g)].map(([, id]) => id));
  expect(flows).toHaveLength(8);
  expect(flows.filter((id) => others?.includes(id))).toEqual([]);

  const { summary, rows } = await replayLog(logs.join(""), "auto", { OWN_ADDRESSES: POT });
  expect(summary).toMatchObject({ read: 16, accepted: 14, rejected: 0, ignored: { "own-traffic": 2 } });
  expect(rows).toMatchObject([
    {
      // Suricata writes the request with the packet that acknowledges it.
      at: began + 5,
      source: SCANNER,
      sensor: "tap-1",
      port: 80,
      application: "http",
      path: "/setup.cgi",
      agent: "probe/1",
      established: true,
    },
    { at: began + 5_000, source: SCANNER, sensor: "tap-1", transport: "udp", port: 53, established: false },
    {
      ...{ at: began + 7_000, source: "192.175.48.10", port: 80, application: "http", path: "/setup.cgi" },
      established: true,
    },
    { at: began + 8_000, source: "192.175.48.11", port: 80, established: false },
  ]);
});
