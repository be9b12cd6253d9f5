import type { ServerResponse } from "node:http";
import type { EventAddress, EventData, EventType, WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import { destinationPolicy } from "@noisefloor/query/watches/deliver/policy.ts";
import { nameResolver } from "@noisefloor/query/watches/deliver/resolve-name.ts";
import { newSecret } from "@noisefloor/query/watches/deliver/secrets.ts";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startNameServer } from "../../support/ingest/name-server.ts";
import { makeCertificate } from "../../support/servers/certificates.ts";
import { destinationHead, networkEvent } from "../../support/watches/events.ts";
import { startHttpReceiver } from "../../support/watches/http-receiver.ts";
import { hostileEvent, sendTo, WATCH_ID } from "../../support/watches/sending.ts";

const WATCH = { id: WATCH_ID, name: "one of ours scans" };
const ADDRESS: EventAddress = {
  ip: "198.51.100.7",
  first_seen: "2026-11-20T10:00:00.000Z",
  last_seen: "2026-11-20T10:05:00.000Z",
  classification: "malicious",
  tags: ["ssh-bruteforcer"],
};

const eventOf = <Type extends EventType>(type: Type, data: EventData<Type>) => ({
  ...{ id: "0b5c2a57-6f0e-4a39-9d3a-0d5f6f4b8c11", type, watch: WATCH, detected_at: "2026-11-20T10:06:07.123Z", data },
  ...{ summary: "something happened", link: `https://noise.example.org/watches/${WATCH_ID}` },
});

const webhook = (url: string, format: "standard" | "greynoise" = "standard"): Destination & { type: "webhook" } => ({
  ...destinationHead("hook"),
  ...{ type: "webhook", url, format, secret: newSecret() },
});
const chat = (type: "slack" | "mattermost", url: string): Destination => ({ ...destinationHead("chat"), type, url });
const ntfy = (url: string, token = ""): Destination => ({ ...destinationHead("phone"), type: "ntfy", url, token });

test.each<[string, (response: ServerResponse) => void, { status: number; error: string; body?: string }]>([
  ["an error", (response) => response.writeHead(503).end("later"), { status: 503, error: "HTTP 503", body: "later" }],
  [
    "a redirect, which is not followed",
    (response) => response.writeHead(307, { location: "/other" }).end(),
    { status: 307, error: "HTTP 307: redirects are not followed" },
  ],
  ["a broken connection", (response) => response.destroy(), { status: 0, error: "socket hang up" }],
  ["no answer", () => {}, { status: 0, error: "took longer than 0.5 s" }],
  [
    "an answer that is no HTTP",
    (response) => response.socket?.end("SSH-2.0-OpenSSH_9.2\r\n"),
    { status: 0, error: expect.stringContaining("Parse Error") },
  ],
  [
    "another protocol",
    (response) =>
      response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
    { status: 0, error: "the connection was closed without an answer" },
  ],
])("a delivery that gets %s has failed, and says so", async (_name, answer, expected) => {
  const receiver = await startHttpReceiver(() => answer);
  const sent = await sendTo(webhook(receiver.url), hostileEvent(), { timeoutMs: 500 });
  expect(sent).toEqual({ isDelivered: false, body: "", switchesOff: false, ...expected });
  expect(receiver.received).toHaveLength(1);
});

test("an answer is success by its status, however long its body is or stalls; the beginning of it is shown", async () => {
  const stalling = await startHttpReceiver(() => (response) => void response.writeHead(201).write("took it"));
  const endless = await startHttpReceiver(() => (response) => {
    const more = () => response.write("ü".repeat(10_000)) && setImmediate(more);
    response.writeHead(200).on("drain", more);
    more();
  });
  expect(await sendTo(webhook(stalling.url), hostileEvent(), { timeoutMs: 500 })).toMatchObject({
    ...{ isDelivered: true, status: 201, body: "took it" },
  });
  const { isDelivered, body } = await sendTo(webhook(endless.url));
  expect({ isDelivered, body }).toEqual({ isDelivered: true, body: `${"ü".repeat(1_000)}…` });
});

test("a receiver must show a certificate by a known authority", async () => {
  const certificate = await makeCertificate("localhost");
  const receiver = await startHttpReceiver(undefined, certificate);
  const hook = webhook(receiver.url.replace("127.0.0.1", "localhost"));
  expect(await sendTo(hook)).toMatchObject({ isDelivered: false, error: expect.stringMatching(/self-signed/) });
  expect(receiver.received).toEqual([]);
  expect(await sendTo(hook, hostileEvent(), { ca: certificate.cert })).toMatchObject({ isDelivered: true });
});

test.each(["localhost", "127.0.0.1", "0x7f.1"])(
  "what %s means counts at each connection, whatever was checked before",
  async (host) => {
    const receiver = await startHttpReceiver();
    const refused = { policy: destinationPolicy(["10.0.0.0/8"]) };
    const sent = await sendTo(webhook(receiver.url.replace("127.0.0.1", host)), hostileEvent(), refused);
    expect(sent).toMatchObject({ isDelivered: false, error: expect.stringMatching(/is this machine/) });
    expect(receiver.received).toEqual([]);
  },
);

test("a name that means another address from one delivery to the next is not followed to this machine", async () => {
  const receiver = await startHttpReceiver();
  const forward: Record<string, string[]> = { "soar.example.org": ["127.0.0.2"] };
  const names = await startNameServer({ reverse: {}, forward });
  onTestFinished(() => names.close());
  const policy = destinationPolicy(["127.0.0.2"], nameResolver([names.address]));
  const hook = webhook(receiver.url.replace("127.0.0.1", "soar.example.org"));
  const send = () => sendTo(hook, hostileEvent(), { policy });
  expect(await send()).toMatchObject({ error: `connect ECONNREFUSED 127.0.0.2:${receiver.port}` });
  forward["soar.example.org"] = ["127.0.0.1"];
  expect(await send()).toMatchObject({ error: "soar.example.org: 127.0.0.1 is this machine" });
  // Of several addresses the allowed ones are tried.
  forward["soar.example.org"] = ["127.0.0.1", "127.0.0.2"];
  expect(await send()).toMatchObject({ error: `connect ECONNREFUSED 127.0.0.2:${receiver.port}` });
  expect(receiver.received).toEqual([]);
});

test("names that never resolve keep no other from being resolved", async () => {
  const receiver = await startHttpReceiver();
  const silent = Array.from({ length: 8 }, (_, index) => `silent-${index}.example.org`);
  const names = await startNameServer({ reverse: {}, forward: { "soar.example.org": ["127.0.0.1"] }, silent });
  onTestFinished(() => names.close());
  const policy = destinationPolicy(["127.0.0.1"], nameResolver([names.address]));
  const send = (host: string) =>
    sendTo(webhook(receiver.url.replace("127.0.0.1", host)), hostileEvent(), { policy, timeoutMs: 1_000 });
  const waiting = silent.map(send);
  expect(await send("soar.example.org")).toMatchObject({ isDelivered: true });
  for (const sent of await Promise.all(waiting)) expect(sent).toMatchObject({ error: "took longer than 1 s" });
});

/** As the hosted service's handler for Splunk SOAR reads what it gets: it fails at anything else. */
const isoTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const soarAlert = z.object({
  timestamp: isoTime,
  alert: z.object({ id: z.string(), name: z.string(), type: z.string().min(1), creator: z.string() }),
  data: z.array(z.strictObject({ ip: z.string(), classification: z.string() })),
  ...{ viz_link: z.url(), query_link: z.url(), alert_link: z.url() },
});
const cveState = z.strictObject({
  activity_seen: z.boolean(),
  ...{ benign_ip_count_1d: z.int(), benign_ip_count_10d: z.int(), benign_ip_count_30d: z.int() },
  ...{ threat_ip_count_1d: z.int(), threat_ip_count_10d: z.int(), threat_ip_count_30d: z.int() },
});
const soarBody = z.union([
  soarAlert.strict(),
  z.strictObject({
    event_type: z.literal("ip-classification-change"),
    ...{ ip: z.string(), new_state: z.string(), old_state: z.string(), timestamp: isoTime, workspace_id: z.string() },
  }),
  z.strictObject({
    event_type: z.literal("cve-status-change"),
    ...{ cve: z.string(), metadata: z.strictObject({}), new_state: cveState, old_state: cveState, timestamp: isoTime },
  }),
]);

const LISTED = { count: 1, truncated: false };
const ALERT = { alert: { id: WATCH_ID, name: WATCH.name, creator: "noisefloor" }, timestamp: "2026-11-20T10:06:07Z" };
const alertOf = (type: string, data: unknown = []) => ({ ...ALERT, alert: { ...ALERT.alert, type }, data });
const ofAddress = [{ ip: ADDRESS.ip, classification: "malicious" }];

test.each<[string, WatchEvent, object[]]>([
  [
    "an address of a network",
    eventOf("network_seen", { ...LISTED, addresses: [{ ...ADDRESS, network: "198.51.100.0/24" }] }),
    [alertOf("ip", ofAddress)],
  ],
  [
    "a search",
    eventOf("search_matches", { ...LISTED, query: "raw_data.scan.port:23", addresses: [ADDRESS] }),
    [alertOf("query", ofAddress)],
  ],
  [
    "a search for a classification",
    eventOf("search_matches", {
      ...{ query: "country:DE classification:malicious", count: 2, truncated: false },
      addresses: [ADDRESS, { ...ADDRESS, ip: "198.51.100.8" }],
    }),
    ["198.51.100.7", "198.51.100.8"].map((ip) => ({
      ...{ event_type: "ip-classification-change", ip, new_state: "malicious", old_state: "unknown" },
      workspace_id: "soc",
    })),
  ],
  [
    "new CVEs",
    eventOf("new_value", {
      ...{ field: "cve", count: 2, truncated: false },
      values: [
        { value: "CVE-2026-1", addresses: 3 },
        { value: "CVE-2026-2", addresses: 4 },
      ],
    }),
    [
      { event_type: "cve-status-change", cve: "CVE-2026-1", new_state: { activity_seen: true, threat_ip_count_1d: 3 } },
      {
        event_type: "cve-status-change",
        cve: "CVE-2026-2",
        old_state: { activity_seen: false, threat_ip_count_1d: 0 },
      },
    ],
  ],
  [
    "a new path",
    eventOf("new_value", { field: "raw_data.http.path", ...LISTED, values: [{ value: "/x", addresses: 3 }] }),
    [alertOf("query")],
  ],
  [
    "a tag that rises",
    eventOf("tag_rises", {
      ...{ tag: { slug: "mirai", name: "Mirai" }, hour: "2026-11-20T10:00:00.000Z", count: 90 },
      ...{ expected: { median: 10, low: 5, high: 20 }, made_from: [] },
    }),
    [alertOf("tag")],
  ],
  [
    "a silent sensor",
    eventOf("sensor_silent", {
      ...{ after_minutes: 60, ...LISTED, sensors: [{ sensor: "cellar", last_seen: ADDRESS.last_seen }] },
    }),
    [alertOf("sensor")],
  ],
  ["a test", eventOf("test", {}), [alertOf("test")]],
])(
  "%s is sent as the hosted service sends it, signed, and handlers made for it read it",
  async (_name, event, bodies) => {
    const receiver = await startHttpReceiver();
    const hook = webhook(receiver.url, "greynoise");
    expect(await sendTo(hook, event)).toMatchObject({ isDelivered: true, status: 204 });
    const sent = receiver.received.map(({ body, headers }) => {
      const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      return new Webhook(hook.secret).verify(body, Object.fromEntries(texts));
    });
    expect(sent).toMatchObject(bodies);
    for (const body of sent) soarBody.parse(body);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(bodies.length);
  },
);

test("of several bodies, those after one that failed are not sent before it is taken", async () => {
  const receiver = await startHttpReceiver((_request, number) => (number === 1 ? 500 : 204));
  const addresses = ["198.51.100.7", "198.51.100.8", "198.51.100.9"].map((ip) => ({ ...ADDRESS, ip }));
  const event = eventOf("search_matches", { query: "classification:benign", count: 3, truncated: false, addresses });
  expect(await sendTo(webhook(receiver.url, "greynoise"), event)).toMatchObject({ isDelivered: false, status: 500 });
  expect(receiver.received).toHaveLength(2);
});

const payloadOf = (body = "") => z.looseObject({ text: z.string() }).parse(JSON.parse(body));

test("in Slack, what attackers wrote is text: no mention, no link, no second line", async () => {
  const receiver = await startHttpReceiver(() => 200);
  expect(await sendTo(chat("slack", receiver.url))).toMatchObject({ isDelivered: true });
  const [{ headers, body } = {}] = receiver.received;
  expect(headers).toMatchObject({ "content-type": "application/json" });
  const { text, ...rest } = payloadOf(body);
  expect(rest).toEqual({
    ...{ mrkdwn: false, parse: "none", link_names: false, unfurl_links: false, unfurl_media: false },
  });
  const lines = text.split("\n");
  expect(lines).toEqual([expect.any(String), `<https://noise.example.org/watches/${WATCH_ID}>`]);
  expect(lines[0]).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)|:\/\/|evil\.example|\p{Cc}|\p{Cf}/u);
  expect(lines[0]).toContain("/a?&lt;!channel&gt;&amp;&lt;@U123&gt;|x&gt;\\u{d}\\u{a}Bcc");
  expect(lines[0]).toContain("[c](https[:]//evil[.]example/d)");
});

test("in Mattermost, what attackers wrote is text: no mention, no link, no image, no second line", async () => {
  const receiver = await startHttpReceiver(() => 200);
  expect(await sendTo(chat("mattermost", receiver.url))).toMatchObject({ isDelivered: true });
  const { text } = payloadOf(receiver.received[0]?.body);
  const [shown = "", link, ...others] = text.split("\n");
  expect([link, others]).toEqual([`<https://noise.example.org/watches/${WATCH_ID}>`, []]);
  // One code span: nothing between its fences ends it.
  const [, inside = ""] = /^(?<!`)```` (.*) ````$/.exec(shown) ?? [];
  expect(inside).toContain("``` *b*");
  expect(inside).not.toMatch(/`{4}|:\/\/|evil\.example|\p{Cc}|\p{Cf}/u);
});

test("ntfy gets title, priority, tags, a link and a token in headers, whatever characters they have", async () => {
  const receiver = await startHttpReceiver(() => 200);
  const event = hostileEvent();
  expect(await sendTo(ntfy(receiver.url, "tk_a"), event)).toMatchObject({ isDelivered: true });
  const [{ headers, body } = {}] = receiver.received;
  expect(headers).toMatchObject({
    ...{ priority: "high", tags: "rotating_light", click: event.link, authorization: "Bearer tk_a" },
    title: `=?UTF-8?B?${Buffer.from(event.watch.name).toString("base64")}?=`,
  });
  expect(body).toContain("/a?<!channel>&<@U123>|x>\\u{d}\\u{a}Bcc: eve@example[.]org");
  expect(body).not.toMatch(/:\/\/|\p{Cc}|\p{Cf}/u);
});

test("without a token ntfy gets none; a test is no alarm", async () => {
  const receiver = await startHttpReceiver(() => 200);
  const watch = { ...WATCH, name: "=?UTF-8?Q?no?=" };
  await sendTo(ntfy(receiver.url), { ...eventOf("test", {}), watch });
  const headers = receiver.received[0]?.headers;
  expect(headers).toMatchObject({ priority: "default", tags: "white_check_mark" });
  expect(headers).not.toHaveProperty("authorization");
  expect(headers?.title).toBe(`=?UTF-8?B?${Buffer.from(watch.name).toString("base64")}?=`);
});

test("what attackers wrote is cut", async () => {
  const receiver = await startHttpReceiver(() => 200);
  const event = networkEvent(WATCH, Date.now(), "/".repeat(100_000));
  for (const each of [chat("slack", receiver.url), chat("mattermost", receiver.url), ntfy(receiver.url)])
    await sendTo(each, event);
  expect(receiver.received.map(({ body }) => body.length < 1_000)).toEqual([true, true, true]);
});
