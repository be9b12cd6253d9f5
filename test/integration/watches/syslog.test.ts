import { createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { createServer as createTlsServer } from "node:tls";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import { expect, test } from "vitest";
import { makeCertificate } from "../../support/servers/certificates.ts";
import { destinationHead, networkEvent } from "../../support/watches/events.ts";
import { listen } from "../../support/watches/http-receiver.ts";
import { hostileEvent, sendTo, WATCH_ID } from "../../support/watches/sending.ts";

const syslog = (port: number, transport: "tcp" | "tls" = "tcp", host = "127.0.0.1"): Destination => ({
  ...destinationHead("siem"),
  ...{ type: "syslog", host, port, transport },
});

const frames: string[] = [];
const read = async (socket: Socket) => void frames.push((await buffer(socket)).toString());

/** By the grammar of RFC 5424, section 6, in a frame of RFC 6587, section 3.4.1. */
function parse(frame: string) {
  const [, length = "", message = ""] = /^([1-9]\d*) (.*)$/su.exec(frame) ?? [];
  expect(Buffer.byteLength(message)).toBe(Number(length));
  const head =
    /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z) ([!-~]{1,255}) ([!-~]{1,48}) ([!-~]{1,128}) ([!-~]{1,32}) /;
  const [whole = "", priority, time, host, application, process, id] = head.exec(message) ?? [];
  const [data = ""] =
    /^\[[^\s=\]"]{1,32}(?: [^\s=\]"]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*\]/u.exec(message.slice(whole.length)) ?? [];
  const values = [...data.matchAll(/ ([^=]+)="((?:[^"\\\]]|\\["\\\]])*)"/gu)].map(([, name = "", value = ""]) => [
    name,
    value.replace(/\\(["\\\]])/g, "$1"),
  ]);
  const [, sdId] = /^\[(\S+)/.exec(data) ?? [];
  const rest = message.slice(whole.length + data.length);
  expect(rest).toMatch(/^ /);
  return {
    priority,
    time,
    host,
    application,
    process,
    id,
    sdId,
    data: Object.fromEntries(values),
    text: rest.slice(1),
  };
}

test("an event is one message of RFC 5424, counted, with its ids; what attackers wrote is in its text alone", async () => {
  frames.length = 0;
  const event = hostileEvent();
  expect(await sendTo(syslog(await listen(createServer(read))), event)).toMatchObject({ isDelivered: true, status: 0 });
  expect(frames).toHaveLength(1);
  const { text, ...message } = parse(frames[0] ?? "");
  expect(message).toEqual({
    ...{ priority: "132", time: event.detected_at, host: "noise", application: "noisefloor", process: "-" },
    ...{ id: "network_seen", sdId: "noisefloor@32473" },
    data: { event: event.id, watch: WATCH_ID, name: `Ünsere "Netze" ]`, link: event.link },
  });
  expect(text).toMatch(/^\ufeffnew path: /);
  expect(text).toContain("\\u{d}\\u{a}Bcc: eve@example.org\\u{a}@here");
  expect(text.slice(1)).not.toMatch(/\p{Cc}|\p{Cf}/u);
});

test("a text of ASCII has no mark, and a test is no warning", async () => {
  frames.length = 0;
  const port = await listen(createServer(read));
  const event: WatchEvent = {
    ...networkEvent({ id: WATCH_ID, name: "a" }, Date.now(), "seen"),
    type: "test",
    data: {},
  };
  await sendTo(syslog(port), event);
  expect(parse(frames[0] ?? "")).toMatchObject({ text: "seen", priority: "134", id: "test" });
});

test("over TLS, to a receiver with a certificate of its name by a known authority", async () => {
  frames.length = 0;
  const { cert, key } = await makeCertificate("localhost");
  const port = await listen(createTlsServer({ cert, key }, read));
  const destination = syslog(port, "tls", "localhost");
  expect(await sendTo(destination)).toMatchObject({ isDelivered: false, error: expect.stringMatching(/self-signed/) });
  expect(await sendTo(destination, hostileEvent(), { ca: cert })).toMatchObject({ isDelivered: true, error: "" });
  expect(parse(frames.at(-1) ?? "")).toMatchObject({ application: "noisefloor" });
});

test.each<[string, (socket: Socket) => void, RegExp]>([
  ["breaks the connection", (socket) => socket.resetAndDestroy(), /ECONNRESET|EPIPE/],
  ["reads nothing", (socket) => socket.pause(), /took longer/],
])("a receiver that %s has not got it", async (_name, onConnection, error) => {
  const port = await listen(createServer({ pauseOnConnect: true }, onConnection));
  const sent = await sendTo(syslog(port), hostileEvent(), { timeoutMs: 300 });
  expect(sent).toMatchObject({ isDelivered: false, error: expect.stringMatching(error) });
});

test("a receiver that is not there has not got it", async () => {
  expect(await sendTo(syslog(1))).toMatchObject({ isDelivered: false, error: expect.stringMatching(/ECONNREFUSED/) });
});
