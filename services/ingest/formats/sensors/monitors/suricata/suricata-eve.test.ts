import { expect, test } from "vitest";
import { readContent } from "../../../../../../test/support/ingest/decode.ts";

type Members = Readonly<Record<string, unknown>>;

const CLIENT = { src_ip: "45.83.64.10", src_port: 42_000, dest_ip: "198.51.100.7", dest_port: 80 };
const SERVER = { src_ip: "198.51.100.7", src_port: 80, dest_ip: "45.83.64.10", dest_port: 42_000 };
const TIME = "2026-11-20T13:05:00.560000+0000";
const START = "2026-11-20T13:01:40.420000+0000";

/** An event of version 7, whose flow began at START. */
function event(type: string, members: Members = {}): Members {
  return { timestamp: TIME, flow_id: 1_240_937_026_533_342, event_type: type, ...CLIENT, proto: "TCP", ...members };
}

async function decode(record: Members) {
  const [decoded] = await readContent(JSON.stringify(record), "suricata-eve");
  expect((await readContent(JSON.stringify(record)))[0]).toMatchObject(decoded ?? {});
  return decoded;
}

const sessionOf = async (record: Members) =>
  JSON.stringify((await decode(record))?.value).match(/"session_id":"([^"]+)"/)?.[1];

test.each<[what: string, record: Members]>([
  ["DNS answer of version 2", event("dns", { proto: "UDP", dns: { version: 2, type: "answer", qr: true } })],
  ["DNS answer of version 3", event("dns", { proto: "UDP", dns: { version: 3, type: "response" } })],
  ["DNS answer by its flag alone", event("dns", { proto: "UDP", dns: { qr: true, rcode: "NOERROR" } })],
  ["server's part of a QUIC handshake", event("quic", { ...SERVER, src_port: 443, quic: { ja3s: { hash: "ab" } } })],
  ["server's banner without the client's", event("ssh", { ...SERVER, src_port: 22, ssh: { server: {} } })],
  ["server's TLS without the client's", event("tls", { ...SERVER, src_port: 443, tls: { ja3s: { hash: "ab" } } })],
  ["SIP response", event("sip", { proto: "UDP", sip: { version: "SIP/2.0", code: "404" } })],
  ["SNMP response", event("snmp", { proto: "UDP", snmp: { pdu_type: "response" } })],
  ["IKE answer", event("ike", { proto: "UDP", ike: { role: "responder" } })],
  [
    "server's half of a connection",
    event("netflow", { ...SERVER, netflow: { start: START, pkts: 6 }, tcp: { tcp_flags: "1b" } }),
  ],
  [
    "reset of a closed port",
    event("netflow", { ...SERVER, src_port: 5, netflow: { start: START, pkts: 1 }, tcp: { tcp_flags: "14" } }),
  ],
  [
    "name server's half",
    event("netflow", { ...SERVER, proto: "UDP", src_port: 53, netflow: { start: START, pkts: 1 } }),
  ],
  ["SYN-ACK", event("flow", { ...CLIENT, flow: { start: START, pkts_toserver: 1 }, tcp: { tcp_flags_ts: "12" } })],
  ["FIN-ACK", event("flow", { flow: { start: START, pkts_toserver: 1 }, tcp: { tcp_flags_ts: "11" } })],
  [
    "packet from a service without a SYN",
    event("flow", { ...CLIENT, src_port: 80, dest_port: 50_001, flow: { start: START }, tcp: { tcp_flags_ts: "00" } }),
  ],
  ["echo reply", event("flow", { proto: "ICMP", icmp_type: 0, flow: { start: START } })],
])("a %s is an answer, and no scan", async (_what, record) => {
  expect(await decode(record)).toMatchObject({ ignored: "answer" });
});

test.each([3, 4, 5, 11, 12])("an ICMP error of type %i is ignored as one, also without a flow", async (type) => {
  const { flow_id: _flow, ...alert } = event("alert", { proto: "ICMP", icmp_type: type, alert: { signature: "ET x" } });
  expect(await decode(alert)).toMatchObject({ ignored: "icmp-error" });
});

test.each<[what: string, record: Members]>([
  ["SYN alone", event("flow", { flow: { start: START, pkts_toserver: 1 }, tcp: { tcp_flags_ts: "02" } })],
  ["SYN and an ACK", event("flow", { flow: { start: START, pkts_toserver: 2 }, tcp: { tcp_flags_ts: "12" } })],
  [
    "scan with FIN, PSH and URG",
    event("flow", { flow: { start: START, pkts_toserver: 1 }, tcp: { tcp_flags_ts: "29" } }),
  ],
  ["scan with ACK", event("flow", { flow: { start: START, pkts_toserver: 1 }, tcp: { tcp_flags_ts: "10" } })],
  ["scan without flags", event("flow", { flow: { start: START, pkts_toserver: 1 }, tcp: { tcp_flags_ts: "00" } })],
  ["client's half of a connection", event("netflow", { netflow: { start: START, pkts: 8 }, tcp: { tcp_flags: "1b" } })],
  [
    "SYN from a service's port",
    event("netflow", {
      ...SERVER,
      src_ip: "45.83.64.10",
      netflow: { start: START, pkts: 1 },
      tcp: { tcp_flags: "02" },
    }),
  ],
  ["ping", event("flow", { proto: "ICMP", icmp_type: 8, flow: { start: START } })],
  ["question to a name server", event("dns", { proto: "UDP", dns: { version: 3, type: "request" } })],
  ["request to a SIP server", event("sip", { proto: "UDP", sip: { method: "OPTIONS" } })],
])("a %s counts", async (_what, record) => {
  expect((await decode(record))?.value).toMatchObject({ source_ip: "45.83.64.10" });
});

test.each<[what: string, record: Members]>([
  [
    "an alert about an answer, which names who opened the flow",
    event("alert", { ...SERVER, direction: "to_client", alert: {}, flow: { src_ip: "45.83.64.10" } }),
  ],
  ["a packet to the client", event("drop", { ...SERVER, direction: "to_client", drop: {} })],
  [
    "an RDP request that Suricata logged with the answer",
    event("rdp", { ...SERVER, src_port: 3_389, rdp: { event_type: "initial_request", cookie: "x" } }),
  ],
])("%s belongs to the client", async (_what, record) => {
  expect((await decode(record))?.value).toMatchObject({ source_ip: "45.83.64.10", source_port: 42_000 });
});

test.each<[record: Members, expected: Members]>([
  [
    event("quic", { proto: "UDP", quic: { sni: "a.example", ja3: { hash: "ab" }, ja4: "q13d" } }),
    { application: "quic", tls: { ja3: "ab", ja4: "q13d", sni: "a.example" } },
  ],
  [
    event("ftp", { ftp: { command: "USER", command_data: "u" } }),
    { application: "ftp", credentials: [{ username: "u" }] },
  ],
  [
    event("ftp", { ftp: { command: "PASS", command_data: "p" } }),
    { credentials: [{ password: "p" }], login_attempts: 1 },
  ],
  [event("ftp", { ftp: { command: "RETR", command_data: "x.sh" } }), { commands: ["RETR x.sh"] }],
  [
    event("mqtt", { mqtt: { connect: { client_id: "c", username: "u", password: "p" } } }),
    { credentials: [{ username: "u", password: "p" }], login_attempts: 1, metadata: { mqtt_client: "c" } },
  ],
  [
    event("sip", { proto: "UDP", sip: { method: "OPTIONS", uri: "sip:1@x" } }),
    { transport: "udp", http: { method: "OPTIONS" } },
  ],
  [event("snmp", { proto: "UDP", snmp: { community: "public" } }), { metadata: { snmp_community: "public" } }],
  [event("rfb", { rfb: {} }), { application: "vnc" }],
  [event("krb5", { krb5: { cname: "u" } }), { application: "kerberos", credentials: [{ username: "u" }] }],
  [
    event("smb", { smb: { ntlmssp: { user: "u", host: "PC" } } }),
    { credentials: [{ username: "u" }], metadata: { smb_host: "PC" } },
  ],
  [event("pgsql", { pgsql: { request: { simple_query: "select 1" } } }), { commands: ["select 1"] }],
  [
    event("ssh", { ssh: { client: { proto_version: "2.0", software_version: "Go" } } }),
    { ssh: { banner: "SSH-2.0-Go" } },
  ],
])("%j says of its client %j", async (record, expected) => {
  expect((await decode(record))?.value).toMatchObject(expected);
});

test.each(["failed", "unknown"])("the protocol %s is none", async (app) => {
  const record = event("flow", { app_proto: app, flow: { start: START, pkts_toserver: 3 } });
  expect((await decode(record))?.value).not.toHaveProperty("application");
});

test("a flow counts when it began, and not when Suricata logged it", async () => {
  expect((await decode(event("flow", { flow: { start: START } })))?.value).toMatchObject({
    observed_at: "2026-11-20T13:01:40.420000+00:00",
  });
  expect((await decode(event("netflow", { netflow: { start: START } })))?.value).toMatchObject({
    observed_at: "2026-11-20T13:01:40.420000+00:00",
  });
  expect((await decode(event("alert", { alert: {}, flow: { start: START } })))?.value).toMatchObject({
    observed_at: "2026-11-20T13:05:00.560000+00:00",
  });
});

test("an event that waited for an answer until its flow timed out is late, unless it says when the flow began", async () => {
  const givenUp = { pkt_src: "stream (flow timeout)" };
  expect(await decode(event("http", { ...givenUp, http: { url: "/" } }))).toHaveProperty("isLate", true);
  expect(await decode(event("http", { pkt_src: "wire/pcap", http: { url: "/" } }))).not.toHaveProperty("isLate");
  const alert = await decode(event("alert", { ...givenUp, alert: {}, flow: { start: START } }));
  expect(alert).not.toHaveProperty("isLate");
  expect(alert?.value).toMatchObject({ observed_at: "2026-11-20T13:01:40.420000+00:00" });
});

// Version 7 writes seconds and microseconds of the flow's start above a hash, version 6 below it.
const HASHES = [7, 4_000_000_123];
const SECONDS = Date.parse("2026-11-20T13:01:40Z") / 1_000;
const sinceVersion7 = (hash: number, seconds = SECONDS) =>
  (seconds % 8) * 2 ** 48 + (420_000 % 65_536) * 2 ** 32 + hash;
const beforeVersion7 = (hash: number, seconds = SECONDS) =>
  ((hash * 2 ** 31) % 2 ** 51) + (seconds % 32_768) * 65_536 + (420_000 % 65_536);
const FLOW_EVENTS = [
  event("http", { http: { url: "/" }, tx_id: 0 }),
  event("alert", { alert: { signature: "x" }, flow: { start: START } }),
  event("alert", {
    ...SERVER,
    alert: { signature: "x" },
    direction: "to_client",
    flow: { start: START, src_ip: CLIENT.src_ip },
  }),
  event("flow", { flow: { start: START, pkts_toserver: 5 } }),
  event("netflow", { netflow: { start: START, pkts: 5 } }),
];

test.each([
  ["7", sinceVersion7, { pkt_src: "wire/pcap" }],
  ["6", beforeVersion7, {}],
])(
  "all events of a flow of version %s are one session, also when a capture is read again",
  async (_version, flowId, members) => {
    const sessions = new Set<string | undefined>();
    for (const hash of HASHES) {
      for (const one of FLOW_EVENTS) sessions.add(await sessionOf({ ...one, ...members, flow_id: flowId(hash) }));
    }
    expect([...sessions]).toEqual([expect.stringContaining("42000-198.51.100.7:80")]);
  },
);

test("a flow whose start leaves zeros in its flow_id is one session, too, also when a capture is read again", async () => {
  const start = new Date((SECONDS - (SECONDS % 8)) * 1_000).toISOString();
  const sessions = new Set<string | undefined>();
  for (const flow_id of HASHES) {
    sessions.add(await sessionOf(event("http", { http: {}, pkt_src: "wire/pcap", flow_id })));
    sessions.add(await sessionOf(event("flow", { flow: { start, pkts_toserver: 5 }, flow_id })));
  }
  expect([...sessions]).toEqual(["TCP:42000-198.51.100.7:80-0"]);
  expect(await sessionOf(event("flow", { flow: { start: START, pkts_toserver: 5 }, flow_id: 7 }))).toBe("7");
});

test.each([
  ["7", sinceVersion7, { pkt_src: "wire/pcap" }],
  ["6", beforeVersion7, {}],
])("another connection between the same ports is another session, in version %s", async (_version, flowId, members) => {
  const [first, later] = [SECONDS, SECONDS + 101].map((seconds) =>
    event("http", { ...members, http: {}, flow_id: flowId(7, seconds) }),
  );
  expect(await sessionOf(first ?? {})).not.toBe(await sessionOf(later ?? {}));
});

test("each request of a connection is a session of its own, with its file", async () => {
  const request = await sessionOf(event("http", { http: { url: "/a" }, tx_id: 1 }));
  expect(request).toMatch(/\/1$/);
  expect(await sessionOf(event("fileinfo", { http: { url: "/a" }, fileinfo: { tx_id: 1 } }))).toBe(request);
});

test("statistics are known without a flow, and an event without a source says where it was looked for", async () => {
  expect(await decode({ timestamp: TIME, event_type: "stats", stats: {} })).toMatchObject({ ignored: "about-sensor" });
  expect(await decode({ timestamp: TIME, event_type: "http", flow_id: 1, http: {} })).toMatchObject({
    rejection: { reason: "no-source", detail: expect.stringContaining("src_ip") },
  });
});
