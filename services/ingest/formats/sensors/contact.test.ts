import { TRANSPORTS } from "@noisefloor/domain/observation/members.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { contactOf } from "../../../../test/support/ingest/contact.ts";
import { HONEYPOT_RECORDS } from "../../../../test/support/ingest/honeypot-records.ts";
import { MONITOR_RECORDS } from "../../../../test/support/ingest/monitor-records.ts";

type Members = Readonly<Record<string, unknown>>;

const TIME = "2026-11-20T13:00:00Z";
const AT = { timestamp: TIME, src_ip: "45.83.64.1" };
const tpot = (type: string, members: Members): Members => ({
  ...{ "@timestamp": TIME, "t-pot_hostname": "pot", type, src_ip: "45.83.64.1", src_port: 4_000, dest_port: 80 },
  ...members,
});
const canary = (logtype: number, logdata: Members = {}): Members => ({
  ...{ logtype, node_id: "c", src_host: "45.83.64.1", src_port: 4_000, dst_host: "203.0.113.7", dst_port: 22 },
  ...{ utc_time: "2026-11-20 13:00:00.1", logdata },
});
const dionaea = (type: string, transport: string): Members => ({
  ...{ connection: { protocol: "httpd", transport, type }, dst_port: 80, src_port: 9, ...AT },
});
const honeytrap = (protocol: string): Members => ({
  start_time: TIME,
  attack_connection: { protocol, remote_ip: "45.83.64.1", remote_port: 3, local_port: 23 },
});
const published = (channel: string, payload: Members): Members => ({
  ...{ channel, ident: "id", timestamp: TIME, payload: { src_ip: "45.83.64.1", ...payload } },
});
const ecs = (members: Members): Members => ({
  ...{ "@timestamp": TIME, ecs: { version: "8" }, source: { ip: "45.83.64.1" }, network: { transport: "tcp" } },
  ...members,
});

test.each<[sensor: string, record: object | string, format?: string]>([
  ["Cowrie's connection", { eventid: "cowrie.session.connect", session: "s", ...AT }],
  ["Dionaea's", dionaea("accept", "tcp")],
  ["Dionaea's over TLS", dionaea("accept", "tls")],
  ["Heralding's without a login", { session_id: "s", num_auth_attempts: 0, source_ip: "45.83.64.1", timestamp: TIME }],
  ["Honeytrap's without a byte", honeytrap("tcp")],
  ["OpenCanary's SSH", canary(4_000)],
  ["OpenCanary's SMB", canary(5_000)],
  ["OpenCanary's banner module", canary(18_001, { FUNCTION: "CONNECTION_MADE" })],
  ["honeypots'", { action: "connection", server: "vnc_server", dest_port: 5900, ...AT }],
  ["ADBHoneypot's", { eventid: "adbhoney.session.connect", session: "s", ...AT }],
  ["RedisHoneyPot's", { action: "NewConnect", addr: "45.83.64.1:4000", time: TIME }],
  ["Endlessh's", `${TIME} ACCEPT host=::ffff:45.83.64.1 port=4000 fd=4 n=1/4096`, "tpot-endlessh"],
  ["medpot's", { message: "Connection found", data: "", timestamp: "20 Nov 26 13:00 UTC", src_ip: "45.83.64.1" }],
  ["Conpot's", { data_type: "s7comm", sensorid: "x", id: "1", ...AT }],
  ["Amun's", published("amun.events", { attackerIP: "45.83.64.1", connectionType: "initial" })],
  ["HoneyDB's agent's", published("honeydb-agent.events", { event: "CONNECT", protocol: "TCP", service: "Echo" })],
  ["a login in T-Pot, whoever took it", tpot("Newpot", { username: "root", password: "root" })],
  ["a web server's", ecs({ url: { path: "/.env" }, http: { request: { method: "GET" } } })],
  ["Packetbeat's answered", ecs({ agent: { type: "packetbeat" }, http: { response: { status_code: 404 } } })],
  ["Zeek's flow by Elastic", ecs({ zeek: { connection: { state: "SF", history: "ShADadFf" } } })],
])("a connection is proof: %s", async (_sensor, record, format) => {
  expect(await contactOf(record, format)).toBe(true);
});

test.each<[sensor: string, record: object | string, format?: string]>([
  ["OpenCanary's scan of ports", canary(5_001, { PROTO: "TCP", SYN: "" })],
  ["OpenCanary's scan by Nmap", canary(5_003)],
  ["OpenCanary's SNMP", canary(13_001)],
  ["a module of one's own in OpenCanary", canary(99_000)],
  [
    "Dionaea's closed port",
    { ...dionaea("reject", "tcp"), connection: { protocol: "pcap", transport: "tcp", type: "reject" } },
  ],
  ["Dionaea's UDP", dionaea("accept", "udp")],
  ["Honeytrap's UDP", honeytrap("udp")],
  ["honeypots' SNMP", { action: "connection", server: "snmp_server", dest_port: 161, ...AT }],
  ["Conpot's SNMP", { data_type: "snmp", sensorid: "x", id: "1", ...AT }],
  [
    "SentryPeer's UDP",
    {
      app_name: "sentrypeer",
      event_timestamp: TIME,
      source_ip: "45.83.64.1",
      transport_type: "UDP",
      sip_method: "OPTIONS",
    },
  ],
  [
    "p0f's SYN",
    { mod: "syn", client_ip: "45.83.64.1", server_ip: "203.0.113.7", subject: "cli", os: "Linux", timestamp: TIME },
  ],
  [
    "fatt's hello",
    { sourceIp: "45.83.64.1", destinationIp: "203.0.113.7", protocol: "ssl", tls: { ja3: "0" }, timestamp: TIME },
  ],
  ["a type of T-Pot's that says nothing", tpot("Newpot", {})],
  ["p0f's by hpfeeds", published("p0f.events", { os: "Linux" })],
  ["Snort's alert by hpfeeds", published("snort.alerts", { signature: "x", proto: "TCP" })],
  ["HoneyDB's agent's UDP", published("honeydb-agent.events", { event: "RX", protocol: "UDP", service: "SNMP" })],
  ["a channel that nobody knows", published("own.events", {})],
  [
    "a packet filter's SYN",
    "1795179600 fw kernel: IN=eth0 OUT= SRC=45.83.64.1 DST=203.0.113.7 LEN=40 PROTO=TCP SPT=5 DPT=23 SYN",
  ],
  ["marx' packet", "datetime,host,src,proto,type,spt,dpt\n2026-11-20 13:00:00,g,760430593,TCP,,6000,22"],
  ["a firewall's packet by Elastic", ecs({ event: { module: "iptables" }, iptables: { tcp: { flags: ["SYN"] } } })],
  ["Packetbeat's request without an answer", ecs({ agent: { type: "packetbeat" }, url: { path: "/.env" } })],
  ["Zeek's half-open one by Elastic", ecs({ zeek: { connection: { state: "S1", history: "Sh" } } })],
  [
    "Suricata's UDP by Elastic",
    ecs({ network: { transport: "udp" }, suricata: { eve: { event_type: "flow", flow: { state: "established" } } } }),
  ],
])("what a stranger can forge is no proof: %s", async (_sensor, record, format) => {
  expect(await contactOf(record, format)).toBe(false);
});

/** A record as it was, but for what it says of its transport. */
function overOther(value: unknown, transport: string): unknown {
  if (typeof value === "string")
    return value.replaceAll(/\bTCP\b/g, transport.toUpperCase()).replaceAll(/\btcp\b/g, transport);
  if (Array.isArray(value)) return value.map((one) => overOther(one, transport));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, overOther(one, transport)]));
}

test("no record of a sensor that names another transport than TCP proves contact, whatever else it says", async () => {
  const naming = [...HONEYPOT_RECORDS, ...MONITOR_RECORDS].filter(([, record]) =>
    /"(?:TCP|tcp)"|PROTO=TCP/.test(JSON.stringify(record)),
  );
  expect(naming.length).toBeGreaterThan(4);
  for (const [format, record] of naming) {
    for (const transport of ["udp", "sctp"]) {
      const other = overOther(record, transport);
      const sent = typeof other === "string" ? other : JSON.stringify(other);
      expect(await contactOf(sent, format), `${format} over ${transport}: ${sent}`).toBe(false);
    }
  }
});

const EVIDENCE: readonly Members[] = [
  { login_attempts: 1 },
  { credentials: [{ username: "root" }] },
  { commands: ["id"] },
  { urls: ["http://198.51.100.1/a"] },
  { payload_sha256: ["0".repeat(64)] },
  { http: { method: "GET" } },
  { tls: { ja4: "t13" } },
  { ssh: { banner: "SSH-2.0-Go" } },
];
const own = (members: Members) => ({ observed_at: TIME, sensor_id: "s", source_ip: "45.83.64.1", ...members });

test("an observation of our own schema proves contact by what it says, else by evidence over TCP, and by nothing else", async () => {
  const evidence = fc
    .subarray([...EVIDENCE])
    .map((parts) => Object.fromEntries(parts.flatMap((part) => Object.entries(part))));
  const empty = fc.constantFrom<Members>({}, { http: {} }, { tls: {}, labels: ["x"] }, { ssh: { banner: "" } });
  const transport = fc.constantFrom(undefined, ...TRANSPORTS);
  const said = fc.constantFrom(undefined, true, false);
  await fc.assert(
    fc.asyncProperty(evidence, empty, transport, said, async (found, nothing, over, established) => {
      const observation = own({ ...nothing, ...found, transport: over, established });
      const isOverTcp = over === "tcp" || (over === undefined && established === true);
      const expected = isOverTcp && (established ?? Object.keys(found).length > 0);
      expect(await contactOf(observation, "observations")).toBe(expected);
    }),
  );
});
