import { expect, test } from "vitest";
import { readContent } from "../../../../../../test/support/ingest/decode.ts";

type Members = Readonly<Record<string, unknown>>;

const ID = { uid: "C1", "id.orig_h": "45.83.64.3", "id.orig_p": 4_000, "id.resp_h": "198.51.100.7", "id.resp_p": 22 };
const record = (log: string, members: Members = {}): Members => ({
  _path: log,
  ts: 1_795_179_600.25,
  ...ID,
  ...members,
});
const decode = async (one: Members) => (await readContent(JSON.stringify(one), "zeek"))[0];

test("a notice is a label of its source, which it may name as src, and its log is no application", async () => {
  const scan = {
    note: "Scan::Port_Scan",
    msg: "m",
    sub: "remote",
    src: "45.83.64.3",
    dst: "198.51.100.7",
    actions: [],
  };
  const expected = { source_ip: "45.83.64.3", labels: ["Scan::Port_Scan"], metadata: { zeek_sub: "remote" } };
  for (const named of [
    { ts: 1_795_179_600, ...scan },
    { _path: "notice", ts: 1_795_179_600, ...scan },
  ]) {
    const decoded = await decode(named);
    expect(decoded?.value).toMatchObject(expected);
    expect(decoded?.value).not.toHaveProperty("application");
  }
  const guess = record("notice", { note: "SSH::Password_Guessing", proto: "tcp", p: 22 });
  expect((await decode(guess))?.value).toMatchObject({ labels: ["SSH::Password_Guessing"], destination_port: 22 });
});

test.each<[log: string, members: Members, label: string]>([
  ["weird", { name: "SSH_unexpected", peer: "zeek", notice: false }, "SSH_unexpected"],
  ["signatures", { sig_id: "s2-1", event_msg: "m" }, "s2-1"],
])("%s %j is the label %s, and no application or transport is guessed", async (log, members, label) => {
  const decoded = await decode(record(log, members));
  expect(decoded?.value).toMatchObject({ session_id: "C1", labels: [label] });
  expect(decoded?.value).not.toHaveProperty("application");
  expect(decoded?.value).not.toHaveProperty("transport");
});

test.each(["dpd", "tunnel", "intel", "weird", "of_my_own"])("the name of the log %s is no application", async (log) => {
  expect((await decode(record(log)))?.value).not.toHaveProperty("application");
});

test.each<[what: string, members: Members]>([
  ["only a SYN-ACK of the other side", { conn_state: "OTH", history: "^h" }],
  ["only the other side's packets", { conn_state: "OTH", history: "hdf" }],
  ["SYN-ACK and RST of the other side", { conn_state: "RSTRH", history: "^hr" }],
  ["the same without a history", { conn_state: "RSTRH" }],
  ["SYN-ACK and FIN of the other side", { conn_state: "SHR" }],
  ["SYN-ACK of the source", { conn_state: "OTH", history: "H" }],
  ["RST alone", { conn_state: "OTH", history: "R" }],
  ["FIN and ACK", { conn_state: "OTH", history: "FA" }],
  ["an answer without a question", { proto: "udp", conn_state: "SHR", history: "^d" }],
  ["an echo reply", { proto: "icmp", "id.orig_p": 0, "id.resp_p": 0, conn_state: "OTH" }],
])("a connection of %s is an answer", async (_what, members) => {
  expect(await decode(record("conn", { proto: "tcp", ...members }))).toMatchObject({ ignored: "answer" });
});

test.each<[what: string, members: Members]>([
  ["a SYN alone", { conn_state: "S0", history: "S" }],
  ["a closed port", { conn_state: "REJ", history: "Sr" }],
  ["both sides, seen from the middle", { conn_state: "OTH", history: "^dDa" }],
  ["an ACK alone", { conn_state: "OTH", history: "A" }],
  ["a datagram", { proto: "udp", conn_state: "S0", history: "D" }],
  ["a ping", { proto: "icmp", "id.orig_p": 8, "id.resp_p": 0, conn_state: "OTH" }],
  ["another's", { conn_state: "SF", history: "ShADadFf", local_orig: false }],
])("a connection of %s counts", async (_what, members) => {
  expect((await decode(record("conn", { proto: "tcp", ...members })))?.value).toMatchObject({
    source_ip: "45.83.64.3",
  });
});

test("ICMP errors and what began here are ignored, each with its reason, in JSON and tab-separated", async () => {
  for (const type of [3, 4, 5, 11, 12]) {
    const error = record("conn", { proto: "icmp", "id.orig_p": type, "id.resp_p": 1 });
    expect(await decode(error)).toMatchObject({ ignored: "icmp-error" });
  }
  expect(await decode(record("conn", { proto: "tcp", local_orig: true }))).toMatchObject({ ignored: "own-traffic" });
  const lines = ["#path\tconn", "#fields\tts\tid.orig_h\tproto\tlocal_orig", "1795179600.5\t45.83.64.3\ttcp\tT"];
  expect((await readContent(lines.join("\n"), "zeek")).at(-1)).toMatchObject({ ignored: "own-traffic" });
});

test.each(["connection_originator_SYN_ack", "spontaneous_RST", "dns_unmatched_reply"])(
  "the weird %s is about an answer",
  async (name) => {
    expect(await decode(record("weird", { name }))).toMatchObject({ ignored: "answer" });
  },
);

test.each<[log: string, members: Members, expected: Members]>([
  [
    "ssh",
    { auth_attempts: 6, client: "SSH-2.0-Go" },
    { application: "ssh", login_attempts: 6, ssh: { banner: "SSH-2.0-Go" } },
  ],
  [
    "ftp",
    { user: "anonymous", password: "a@b", command: "RETR", arg: "ftp://x/y" },
    { credentials: [{ username: "anonymous", password: "a@b" }], commands: ["RETR ftp://x/y"] },
  ],
  ["ftp", { user: "root", password: "<hidden>" }, { credentials: [{ username: "root" }] }],
  ["mysql", { cmd: "login", arg: "root" }, { application: "mysql", credentials: [{ username: "root" }] }],
  ["mysql", { cmd: "query", arg: "select 1" }, { commands: ["query select 1"] }],
  [
    "kerberos",
    { client: "u/REALM", service: "krbtgt/REALM" },
    { application: "kerberos", credentials: [{ username: "u" }] },
  ],
  ["ntlm", { username: "u", hostname: "PC" }, { credentials: [{ username: "u" }], metadata: { ntlm_host: "PC" } }],
  ["radius", { username: "u" }, { transport: "udp", credentials: [{ username: "u" }] }],
  ["socks", { user: "u", password: "p" }, { credentials: [{ username: "u", password: "p" }] }],
  [
    "sip",
    { uri: "sip:1@x", method: "OPTIONS", user_agent: "ua", call_id: "1" },
    { transport: "udp", application: "sip" },
  ],
  ["snmp", { community: "public" }, { transport: "udp", metadata: { snmp_community: "public" } }],
  ["rdp", { cookie: "hello" }, { application: "rdp", metadata: { rdp_cookie: "hello" } }],
  [
    "smtp",
    { helo: "h", user_agent: "mailer" },
    { application: "smtp", metadata: { smtp_helo: "h", smtp_agent: "mailer" } },
  ],
  ["ssl", { version: "DTLSv12", server_name: "x" }, { transport: "udp", application: "tls", tls: { sni: "x" } }],
  ["mqtt_connect", { client_id: "c" }, { application: "mqtt", metadata: { mqtt_client: "c" } }],
  ["conn", { proto: "tcp", service: "ssl,-http" }, { application: "tls" }],
  ["s7comm_upload_download", {}, { application: "s7comm" }],
])("%s %j says %j", async (log, members, expected) => {
  expect((await decode(record(log, members)))?.value).toMatchObject(expected);
});

test("what a mail or a call says of its program is no web request", async () => {
  expect((await decode(record("smtp", { user_agent: "mailer" })))?.value).not.toHaveProperty("http");
  expect((await decode(record("sip", { uri: "sip:1@x", user_agent: "ua" })))?.value).toMatchObject({
    http: { user_agent: "ua" },
  });
  expect((await decode(record("sip", { uri: "sip:1@x", user_agent: "ua" })))?.value).not.toHaveProperty("http.path");
});

test.each(["<hidden>", "<unknown>", "-", "(empty)"])("the user name %s is none", async (user) => {
  expect((await decode(record("ftp", { user })))?.value).not.toHaveProperty("credentials");
});

test.each([
  ["stats", "about-sensor"],
  ["known_hosts", "about-sensor"],
  ["software", "no-behaviour"],
  ["x509", "no-behaviour"],
])("records of %s are ignored as %s", async (log, reason) => {
  expect(await decode({ _path: log, ts: 1, host: "45.83.64.3" })).toMatchObject({ ignored: reason });
});

test("a record that names no source is rejected with the members that were looked for", async () => {
  expect(await decode({ _path: "conn", ts: 1 })).toMatchObject({
    rejection: { reason: "no-source", detail: expect.stringMatching(/id\.orig_h, src, src_addr/) },
  });
  expect(await decode({ what: "ever" })).toMatchObject({ rejection: { reason: "unknown-format" } });
});

test("a tab-separated line without its header is rejected with what is missing, and how to do without it", async () => {
  const [decoded] = await readContent("1795179600.5\tC9\t45.83.64.20\t1\t198.51.100.7\t22\ttcp\t-\tS0\tS", "zeek");
  expect(decoded?.rejection).toMatchObject({
    reason: "unknown-format",
    detail: expect.stringMatching(/#fields.*JSON/),
  });
});

test("columns hold until another header names others; lists, escapes and its own signs for nothing are read", async () => {
  const lines = [
    ...["#separator \\x09", "#set_separator\t|", "#empty_field\t(none)", "#unset_field\tNIL", "#path\thttp"],
    "#fields\tts\tid.orig_h\turi\tuser_agent\treferrer\tclient_header_names",
    "#types\ttime\taddr\tstring\tstring\tstring\tvector[string]",
    "1795179600.5\t45.83.64.3\t/a\\x09b\tcaf\\xc3\\xa9\tNIL\tHOST|ACCEPT",
    "#close\t2026-11-20-14-00-00",
    ...["#path\tconn", "#fields\tts\tproto\tid.orig_h", "1795179600.5\tudp\t45.83.64.4"],
  ];
  const values = (await readContent(lines.join("\n"), "zeek")).flatMap(({ value }) => value ?? []);
  expect(values).toMatchObject([
    { source_ip: "45.83.64.3", http: { path: "/a\tb", user_agent: "café", headers: ["host", "accept"] } },
    { source_ip: "45.83.64.4", transport: "udp" },
  ]);
  expect(values[0]).not.toHaveProperty("http.referer");
});
