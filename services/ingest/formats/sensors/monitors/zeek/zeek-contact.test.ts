import fc from "fast-check";
import { expect, test } from "vitest";
import { contactOf, recordContact } from "../../../../../../test/support/ingest/contact.ts";
import { readContent } from "../../../../../../test/support/ingest/decode.ts";
import { isCompletedHandshake } from "./zeek-contact.ts";

type Members = Readonly<Record<string, unknown>>;

const record = (log: string, members: Members): Members => ({
  ...{ _path: log, ts: 1_795_179_600.25, uid: "C1", "id.orig_h": "45.83.64.3", "id.orig_p": 42_000 },
  ...{ "id.resp_h": "198.51.100.7", "id.resp_p": 80, ...members },
});

const proves = (log: string, members: Members) => contactOf(record(log, members), "zeek");

test.each<[what: string, state: string, history: string | undefined]>([
  ["closed by both", "SF", "ShADadFf"],
  ["open still", "S1", "ShADad"],
  ["handshake alone, open still", "S1", "ShA"],
  ["closed by the originator alone", "S2", "ShADadF"],
  ["closed by the responder alone", "S3", "ShAdDaf"],
  ["reset by the originator after the handshake", "RSTO", "ShAR"],
  ["reset by the responder after it took data", "RSTR", "ShADar"],
  ["reset by the responder after it sent data", "RSTR", "ShADadr"],
  ["data beside the acknowledgement, which the responder answers", "SF", "ShDadFf"],
  ["closed by both, without a history", "SF", undefined],
  ["reset, without a history", "RSTR", undefined],
])("a connection %s is proof", async (_what, state, history) => {
  expect(await proves("conn", { proto: "tcp", conn_state: state, history })).toBe(true);
});

test.each<[what: string, members: Members]>([
  ["a SYN alone", { proto: "tcp", conn_state: "S0", history: "S" }],
  ["a closed port", { proto: "tcp", conn_state: "REJ", history: "Sr" }],
  ["a SYN-ACK that got no answer, which Zeek calls established", { proto: "tcp", conn_state: "S1", history: "Sh" }],
  ["a reset of whoever did not send the SYN", { proto: "tcp", conn_state: "RSTO", history: "ShR" }],
  ["an acknowledgement that the responder refuses", { proto: "tcp", conn_state: "RSTR", history: "ShAr" }],
  ["the same with data", { proto: "tcp", conn_state: "RSTR", history: "ShADr" }],
  ["a FIN that nobody answered", { proto: "tcp", conn_state: "S2", history: "ShF" }],
  ["data in a SYN", { proto: "tcp", conn_state: "S1", history: "SDh" }],
  ["packets from the middle", { proto: "tcp", conn_state: "OTH", history: "DdAa" }],
  ["data of both over UDP", { proto: "udp", conn_state: "SF", history: "Dd" }],
  ["a ping", { proto: "icmp", "id.orig_p": 8, "id.resp_p": 0, conn_state: "OTH" }],
])("%s is no proof", async (_what, members) => {
  expect(await proves("conn", members)).toBe(false);
});

test.each<[log: string, answered: Members, request: Members]>([
  ["http", { status_code: 404 }, { method: "GET", uri: "/.env", user_agent: "curl/8" }],
  ["ssl", { version: "TLSv12", cipher: "TLS_AES" }, { server_name: "x", ja3: "0".repeat(32) }],
  ["ssh", { server: "SSH-2.0-OpenSSH_9" }, { client: "SSH-2.0-Go" }],
  ["ftp", { reply_code: 530 }, { user: "root", password: "a", command: "PASS" }],
  ["mysql", { success: false }, { cmd: "login", arg: "root" }],
])(
  "a record of %s is proof once the server has answered: a SYN may carry a request",
  async (log, answered, request) => {
    expect(await proves(log, { ...request, ...answered })).toBe(true);
    expect(await proves(log, request)).toBe(false);
    expect(await proves(log, { ...request, ...answered, proto: "udp" })).toBe(false);
  },
);

test("columns say the same, also with a dash for nothing", async () => {
  const lines = [
    ...["#path\thttp", "#fields\tts\tuid\tid.orig_h\tid.resp_p\turi\tstatus_code"],
    ...["1795179600.5\tC1\t45.83.64.3\t80\t/a\t200", "1795179601.5\tC2\t45.83.64.4\t80\t/a\t-"],
  ];
  const records = (await readContent(lines.join("\n"), "zeek")).filter(({ value }) => value !== undefined);
  expect(records.map(recordContact)).toEqual([true, false]);
});

/** What a server does with a packet of somebody who has seen none of its own, and how Zeek writes both. */
const FORGED = { syn: "S", ack: "A", data: "D", fin: "F", reset: "R" } as const;
const ANSWERS = { syn: "h", ack: "r", data: "", fin: "", reset: "" } as const;

test("whoever forges packets without seeing an answer proves nothing, whatever their order", () => {
  const kinds = fc.constantFrom<keyof typeof FORGED>("syn", "ack", "data", "fin", "reset");
  fc.assert(
    fc.property(
      fc.array(kinds, { maxLength: 8 }),
      fc.constantFrom("SF", "S1", "S2", "S3", "RSTO", "RSTR"),
      (sent, state) => {
        const letters = `S${sent.map((kind) => FORGED[kind] + ANSWERS[kind]).join("")}`;
        // Zeek writes each letter once.
        expect(isCompletedHandshake(state, [...new Set(letters)].join(""))).toBe(false);
      },
    ),
  );
});
