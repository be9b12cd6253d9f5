import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { expect, test } from "vitest";
import { readContent } from "../../../../../test/support/ingest/decode.ts";
import type { DecodeOptions } from "../../format.ts";

const CRITERIA = { now: Date.parse("2026-11-20T14:00:00Z"), retentionDays: 100, right: "everything" } as const;
const HEAD = "Nov 19 13:00:00 fw-a kernel: [1.2] ";
const ADDRESSES = "MAC=aa SRC=45.83.64.9 DST=198.51.100.7 LEN=40 TOS=0x00 PREC=0x00 TTL=244 ID=1 ";
const IN = `IN=eth0 OUT= ${ADDRESSES}`;
const tcp = (flags: string, ports = "SPT=40000 DPT=23") => `PROTO=TCP ${ports} WINDOW=1024 RES=0x00 ${flags} URGP=0 `;
const SYN = tcp("SYN");

async function read(line: string, options: Partial<DecodeOptions> = {}, format = "netfilter") {
  const [record] = await readContent(line, format, options);
  return record;
}
const reasonOf = async (line: string, options: Partial<DecodeOptions> = {}) => (await read(line, options))?.ignored;

test.each([
  ["iptables", `${HEAD}DROP ${IN}${SYN}`],
  ["ufw", `${HEAD}[UFW BLOCK] ${IN}${SYN}`],
  ["a prefix without a blank", `${HEAD}DROP${IN}${SYN}`],
  ["nftables' flags all", `${HEAD}${IN.replace("MAC=aa", "MACSRC=aa MACDST=bb MACPROTO=0800")}${SYN}`],
  [
    "numbers of sequence",
    `${HEAD}${IN}PROTO=TCP SPT=40000 DPT=23 SEQ=1 ACK=0 WINDOW=29200 RES=0x00 SYN URGP=0 OPT (02)`,
  ],
  ["congestion bits", `${HEAD}${IN}${tcp("CWR ECE SYN")}`],
  ["ulogd", `Nov 19 13:00:00 fw-a DROP IN=eth0 OUT= ${ADDRESSES}${SYN}MARK=0 `],
  ["ulogd without a prefix", `Nov 19 13:00:00 fw-a  IN=eth0 OUT= ${ADDRESSES}${SYN}MARK=0 `],
  ["a bridge", `${HEAD}IN=br0 OUT=br0 PHYSIN=eth0 PHYSOUT=tap1 ${ADDRESSES}${SYN}`],
  ["the protocol's number", `${HEAD}${IN}${SYN.replace("TCP", "6")}`],
])("a packet of %s is an observation of its host", async (_what, line) => {
  const expected = { source_ip: "45.83.64.9", source_port: 40_000, destination_port: 23, transport: "tcp" };
  const named = await read(line);
  expect(named?.value).toMatchObject({ ...expected, sensor_id: "fw-a", observed_at: "2026-11-19T13:00:00Z" });
  expect(await read(line, {}, "auto")).toEqual(named);
});

test.each([
  ["an echo request", "PROTO=ICMP TYPE=8 CODE=0 ID=1 SEQ=1 ", { transport: "icmp" }],
  ["UDP", "PROTO=UDP SPT=53 DPT=40000 LEN=20 ", { transport: "udp", source_port: 53, destination_port: 40_000 }],
  ["SCTP by ulogd", "PROTO=SCTP SPT=5 DPT=2905 ", { transport: "sctp", source_port: 5, destination_port: 2_905 }],
  ["SCTP by the kernel", "PROTO=132 ", { transport: "sctp" }],
  ["a stealth scan", tcp("URG PSH FIN"), { transport: "tcp", destination_port: 23 }],
  ["a scan without flags", "PROTO=TCP SPT=5 DPT=23 WINDOW=1024 RES=0x00 URGP=0 ", { destination_port: 23 }],
  ["a client's data", tcp("ACK PSH", "SPT=40000 DPT=80"), { destination_port: 80 }],
])("%s counts", async (_what, packet, expected) => {
  const record = await read(`${HEAD}${IN}${packet}`);
  expect(record?.value).toMatchObject(expected);
  expect(validateObservation(record?.value, CRITERIA)).toHaveProperty("observation");
});

const QUOTED = "[SRC=198.51.100.7 DST=45.83.64.9 LEN=60 PROTO=UDP SPT=53 DPT=4444 LEN=40 ] ";
test.each([
  ["answer", tcp("ACK SYN", "SPT=443 DPT=51234")],
  ["answer", tcp("RST")],
  ["answer", tcp("ACK RST")],
  ["answer", tcp("FIN")],
  ["answer", tcp("ACK FIN", "SPT=80 DPT=40000")],
  ["answer", tcp("ACK")],
  ["answer", tcp("ACK PSH", "SPT=443 DPT=51234")],
  ["answer", tcp("ACK PSH FIN", "SPT=443 DPT=51234")],
  ["answer", "PROTO=ICMP TYPE=0 CODE=0 ID=1 SEQ=1 "],
  ["icmp-error", `PROTO=ICMP TYPE=3 CODE=3 ${QUOTED}`],
  ["icmp-error", `PROTO=ICMP TYPE=5 CODE=1 GATEWAY=192.0.2.1 ${QUOTED}`],
  ["icmp-error", `PROTO=ICMP TYPE=11 CODE=0 ${QUOTED}MARK=0x1 `],
  ["icmp-error", `PROTO=1 TYPE=4 CODE=0 ${QUOTED}`],
  ["icmp-error", "PROTO=ICMP TYPE=12 CODE=0 INCOMPLETE [8 bytes] "],
])("%s: what answers is no scan, like %j", async (reason, packet) => {
  expect(await reasonOf(`${HEAD}[UFW BLOCK] ${IN}${packet}`)).toBe(reason);
});

test("what an ICMP packet quotes is not read", async () => {
  const record = await read(`${HEAD}${IN}PROTO=ICMP TYPE=13 CODE=0 ${QUOTED}`);
  expect(record?.value).toMatchObject({ source_ip: "45.83.64.9", transport: "icmp" });
  expect(record?.value).not.toHaveProperty("destination_port");
  expect(record?.value).not.toHaveProperty("source_port");
});

test.each([
  "[UFW ALLOW] ",
  "[UFW AUDIT] ",
  "ACCEPT ",
  "ACCEPT",
  "nft accept: ",
  "Shorewall:net2fw:ACCEPT:",
  "filter_IN_public_ALLOW: ",
  "[WAN_LOCAL-10-A]",
  '[WAN_LOCAL-A-2147483647] DESCR="[WAN_LOCAL]not blocked" ',
  '[WAN_IN-RET-3001] DESCR="return" ',
  "101 6 tap101i0-IN 19/Nov/2026:14:00:00 +0100 policy ACCEPT: ",
])("a packet that the filter let in, like %j, counts only if the settings say so", async (prefix) => {
  const line = `${HEAD}${prefix}${IN}${SYN}`;
  expect(await reasonOf(line)).toBe("accepted-visit");
  expect((await read(line, { countsAccepted: true }))?.value).toMatchObject({ source_ip: "45.83.64.9" });
});

test.each([
  ...["[UFW LIMIT BLOCK] ", "REJECT wan in: ", "not accepted, dropped: ", "bypassed ", "[WAN_IN-default-D]", ""],
  '[WAN_LOCAL-D-2147483647] DESCR="[WAN_LOCAL]what allow lists leave" ',
  `[CUSTOM1_WAN-R-10005] DESCR="reject-A] ${"x".repeat(300)}" `,
])("%j does not say that the packet was let in", async (prefix) => {
  expect(await reasonOf(`${HEAD}${prefix}${IN}${SYN}`)).toBeUndefined();
});

test("a firewall's host may be called as its rules are", async () => {
  const line = `Nov 19 13:00:00 accept-gw kernel: ${IN}${SYN}`;
  expect((await read(line))?.value).toMatchObject({ sensor_id: "accept-gw" });
});

test("what the host sends is its own traffic, and a forwarded packet is not", async () => {
  expect(await reasonOf(`${HEAD}DROPIN= OUT=eth0 ${ADDRESSES}${SYN}`)).toBe("own-traffic");
  expect(await reasonOf(`${HEAD}${IN}${SYN}`, { isOwnAddress: (address) => address === "45.83.64.9" })).toBe(
    "own-traffic",
  );
  expect(await reasonOf(`${HEAD}DROPIN=eth0 OUT=eth1 ${ADDRESSES}${SYN}`)).toBeUndefined();
});

test.each(["netfilter", "auto"])("an IPv6 packet is rejected under %s, with the reason", async (format) => {
  const line = `${HEAD}[UFW BLOCK] IN=eth0 OUT= MAC=aa SRC=2001:0db8:0000:0000:0000:0000:0000:0002 DST=2001:0db8:0000:0000:0000:0000:0000:0001 LEN=60 TC=0 HOPLIMIT=50 FLOWLBL=0 ${SYN}`;
  const record = await read(line, {}, format);
  expect(record).toMatchObject({ format: "netfilter", value: { sensor_id: "fw-a" } });
  expect(validateObservation(record?.value, CRITERIA)).toEqual({
    reason: "source-not-routable",
    detail: 'source_ip "2001:0db8:0000:0000:0000:0000:0000:0002" is an IPv6 address: IPv6 is not supported',
  });
});

test("a line that is cut off is rejected, and one of another program is ignored", async () => {
  expect((await read(`${HEAD}IN=eth0 OUT= MAC=aa SRC=45.83.64.9 DS`))?.rejection).toMatchObject({
    reason: "invalid-observation",
    detail: expect.stringMatching(/ends before PROTO=/),
  });
  expect((await read(`${HEAD}IN=eth0 OUT= SRC= DST=198.51.100.7 PROTO=TCP `))?.rejection).toMatchObject({
    reason: "no-source",
  });
  expect(await reasonOf(`${HEAD}eth0: link up`)).toBe("other-program");
});

test("a line without a date keeps its beginning as its time, for the rejection to show", async () => {
  const record = await read(`[12345.678901] DROP ${IN}${SYN}`);
  expect(record?.value).toMatchObject({
    observed_at: expect.stringMatching(/^\[12345\.678901\] DROP/),
    sensor_id: "netfilter",
  });
});
