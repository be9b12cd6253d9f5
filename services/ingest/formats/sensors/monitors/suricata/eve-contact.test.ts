import fc from "fast-check";
import { expect, test } from "vitest";
import { contactOf } from "../../../../../../test/support/ingest/contact.ts";
import { readContent } from "../../../../../../test/support/ingest/decode.ts";
import { isEstablishedFlow } from "./eve-contact.ts";

type Members = Readonly<Record<string, unknown>>;

const SCANNER = { src_ip: "45.83.64.10", src_port: 42_000, dest_ip: "198.51.100.7", dest_port: 80 };
const OWN = "198.51.100.7";

const event = (type: string, members: Members): Members => ({
  ...{ timestamp: "2026-11-20T13:05:00.560000+0000", flow_id: 1_240_937_026_533_342, event_type: type },
  ...SCANNER,
  proto: "TCP",
  ...members,
});
const flow = (state: string, tcp?: Members, members: Members = {}) =>
  event("flow", { flow: { state, start: "2026-11-20T13:01:40.420000+0000" }, ...(tcp && { tcp }), ...members });
const flags = (ts: string, tc: string, state: string): Members => ({ tcp_flags_ts: ts, tcp_flags_tc: tc, state });

const options = { isOwnAddress: (address: string) => address === OWN };
const proves = (record: Members) => contactOf(record, "suricata-eve", options);

test.each<[what: string, record: Members]>([
  ["one that is open still", flow("established", flags("1a", "12", "established"))],
  ["one that says no flags", flow("established")],
  ["one that both closed", flow("closed", flags("1b", "1b", "closed"))],
  ["one in which the server spoke first and the client reset", flow("closed", flags("16", "1a", "closed"))],
  ["one that the server closed", flow("closed", flags("13", "13", "closed"))],
  ["one that the server closes just now", flow("established", flags("12", "13", "fin_wait1"))],
])("a flow over TCP is proof: %s", async (_what, record) => {
  expect(await proves(record)).toBe(true);
});

/** As Suricata 7.0.10 writes them, out of captures of such packets. */
test.each<[what: string, record: Members]>([
  ["a SYN alone", flow("new", flags("02", "00", "syn_sent"))],
  ["a closed port", flow("closed", flags("02", "14", "closed"))],
  ["a SYN-ACK without an answer", flow("new", flags("02", "12", "syn_recv"))],
  ["a reset of whoever did not send the SYN", flow("closed", flags("06", "12", "closed"))],
  ["acknowledgements and data that the server refuses", flow("new", flags("1a", "16", "syn_recv"))],
  ["forged data, then the reset of the forged host", flow("closed", flags("1e", "12", "closed"))],
  ["a forged FIN, which Suricata calls established", flow("established", flags("13", "12", "close_wait"))],
  ["data that a SYN carries", flow("closed", flags("06", "1a", "closed"), { app_proto: "http" })],
  ["one picked up in the middle", flow("established", flags("18", "18", "established"))],
  ["both directions of UDP", flow("established", undefined, { proto: "UDP", app_proto: "failed" })],
  ["QUIC", flow("established", undefined, { proto: "UDP", app_proto: "quic" })],
  ["one half of a flow", event("netflow", { netflow: { pkts: 5 }, tcp: { tcp_flags: "1b" } })],
])("a flow is no proof: %s", async (_what, record) => {
  expect(await proves(record)).toBe(false);
});

test.each<[what: string, type: string, asked: Members, answered: Members]>([
  ["a request", "http", { http: { url: "/.env" } }, { http: { url: "/.env", status: 404 } }],
  ["a hello", "tls", { tls: { sni: "x", version: "UNDETERMINED" } }, { tls: { sni: "x", version: "TLS 1.3" } }],
  ["a banner", "ssh", { ssh: { client: { software_version: "Go" } } }, { ssh: { client: {}, server: {} } }],
  ["a login", "ftp", { ftp: { command: "PASS" } }, { ftp: { command: "PASS", completion_code: ["530"] } }],
  ["a session", "smb", { smb: { command: "SMB1" } }, { smb: { command: "SMB1", status: "STATUS_SUCCESS" } }],
  ["a cookie", "rdp", { rdp: { event_type: "initial_request" } }, { rdp: { event_type: "initial_response" } }],
  ["an alert", "alert", { http: { url: "/" }, app_proto: "http" }, { http: { url: "/", status: 200 } }],
])("%s is proof once the server has answered: a lone SYN may carry it", async (_what, type, asked, answered) => {
  expect(await proves(event(type, answered))).toBe(true);
  expect(await proves(event(type, asked))).toBe(false);
  expect(await proves(event(type, { ...answered, proto: "UDP" }))).toBe(false);
});

test("an own service's answer to a source proves the source's contact, too", async () => {
  const alert = event("alert", {
    ...{ src_ip: OWN, src_port: 80, dest_ip: SCANNER.src_ip, dest_port: 42_000 },
    ...{ http: { url: "/", status: 200 }, alert: { signature: "x" } },
  });
  const [decoded] = await readContent(JSON.stringify(alert), "suricata-eve", options);
  expect(decoded?.value).toMatchObject({ source_ip: SCANNER.src_ip });
  expect(await proves(alert)).toBe(true);
});

test("no flow is proof of which Suricata saw neither an established state nor data or a FIN of the server", () => {
  const hex = fc.integer({ min: 0, max: 0x3f }).map((bits) => bits.toString(16).padStart(2, "0"));
  const silent = fc.constantFrom("00", "02", "04", "10", "12", "14", "16");
  const tcpState = fc.constantFrom("syn_sent", "syn_recv", "fin_wait1", "close_wait", "last_ack", "closed");
  const state = fc.constantFrom("new", "established", "closed", "bypassed");
  fc.assert(
    fc.property(hex, silent, tcpState, state, (ts, tc, tcp, said) => {
      expect(isEstablishedFlow(flow(said, flags(ts, tc, tcp)))).toBe(false);
    }),
  );
});
