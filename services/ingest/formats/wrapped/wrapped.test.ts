import { describe, expect, test } from "vitest";
import { PLAIN, readContent } from "../../../../test/support/ingest/decode.ts";
import { HONEYPOT_RECORDS } from "../../../../test/support/ingest/honeypot-records.ts";
import { MONITOR_RECORDS } from "../../../../test/support/ingest/monitor-records.ts";
import { findFormats } from "../all.ts";
import { openDecoder } from "../decoder.ts";
import { fieldMapFormat } from "../field-maps/format.ts";
import { fieldMapShape } from "../field-maps/schema.ts";
import type { LogFormat } from "../format.ts";

type Json = Record<string, unknown>;
const RECORDS = [...HONEYPOT_RECORDS, ...MONITOR_RECORDS];
const OBSERVATION = { observed_at: "2026-11-20T13:00:00Z", source_ip: "45.83.64.1", sensor_id: "own" };
const JSON_RECORDS = [
  ...RECORDS.flatMap(([format, record]) => (typeof record === "string" ? [] : [[format, record] as const])),
  ["observations", OBSERVATION] as const,
];
const text = (value: unknown) => JSON.stringify(value);

/** What stands around a record when it comes through a shipper, and what its text is called there. */
const WRAPPERS: readonly (readonly [name: string, wrap: (record: Json) => string])[] = [
  [
    "Filebeat",
    (record) =>
      text({
        ...{ "@timestamp": "2026-11-20T13:00:09Z", "@metadata": { beat: "filebeat", type: "_doc", version: "8.15.0" } },
        ...{ log: { offset: 7, file: { path: "/x.json" } }, message: text(record), input: { type: "filestream" } },
        ...{ ecs: { version: "8.0.0" }, host: { name: "shipper" }, agent: { name: "shipper", type: "filebeat" } },
      }),
  ],
  ["Filebeat with the record under json", (record) => text({ "@timestamp": "2026-11-20T13:00:09Z", json: record })],
  ["Logstash", (record) => text({ "@timestamp": "x", "@version": "1", event: { original: text(record) } })],
  ["Logstash, dotted", (record) => text({ "@version": "1", "event.original": text(record) })],
  ["Fluent Bit", (record) => text({ date: 1_795_179_609.5, hostname: "shipper", log: text(record) })],
  [
    "Fluentd in Kubernetes",
    (record) => text({ stream: "stdout", log: `${text(record)}\n`, kubernetes: { pod_name: "p" } }),
  ],
  [
    "Docker's json-file",
    (record) => text({ log: `${text(record)}\n`, stream: "stdout", time: "2026-11-20T13:00:09Z" }),
  ],
  [
    "Docker's lines, shipped by Filebeat",
    (record) => text({ message: text({ log: text(record), stream: "stdout", time: "x" }) }),
  ],
  ["Vector", (record) => text({ host: "shipper", message: text(record), source_type: "file", timestamp: "x" })],
  [
    "journald",
    (record) => text({ _HOSTNAME: "shipper", MESSAGE: text(record), __REALTIME_TIMESTAMP: "1795179609500000" }),
  ],
  ["journald's bytes", (record) => text({ MESSAGE: [...Buffer.from(text(record))] })],
  ["GELF", (record) => text({ version: "1.1", host: "shipper", short_message: text(record), level: 6 })],
  ["Elasticsearch", (record) => text({ _index: "logstash-2026.11.20", _id: "x1", _score: 1, _source: record })],
  [
    "a search answer",
    (record) => text({ took: 1, hits: { total: { value: 1 }, hits: [{ _id: "1", _source: record }] } }),
  ],
  ["Splunk's export", (record) => text({ preview: false, result: { _raw: text(record), host: "shipper" } })],
  ["splunk-logging", (record) => text({ message: record, severity: "info" })],
  ["a list of events", (record) => text({ events: [{ timestamp: 1_795_179_609_500, message: text(record) }] })],
  ["OpenCanary's webhook", (record) => text({ message: text(record) })],
  ["OpenCanary's webhook as a form", (record) => new URLSearchParams({ message: text(record) }).toString()],
  ["JSON as text", (record) => text(text(record))],
  ["JSON as text, twice", (record) => text(text(text(record)))],
  ["an array", (record) => text([record])],
  ["rsyslog", (record) => `<14>Nov 20 13:00:09 shipper app[7]: ${text(record)}`],
  ["rsyslog, @cee", (record) => `<14>Nov  2 13:00:09 shipper app: @cee: ${text(record)}`],
  ["RFC 5424", (record) => `<14>1 2026-11-20T13:00:09Z shipper app 7 - - ${text(record)}`],
  [
    "RFC 5424 with structured data",
    (record) => `<14>1 2026-11-20T13:00:09Z shipper app 7 - [a@1 b="c d"] \ufeff${text(record)}`,
  ],
  ["syslog without a host", (record) => `<14>Nov 20 13:00:09 app[7]: ${text(record)}`],
  ["docker compose", (record) => `cowrie-1  | ${text(record)}`],
  ["Loki", (record) => text({ labels: { job: "x" }, line: text(record), timestamp: "2026-11-20T13:00:09Z" })],
  ["Zeek's Kafka plugin", (record) => text({ conn: record })],
  ["containerd", (record) => `2026-11-20T13:00:09.123456789Z stdout F ${text(record)}`],
  ["NUL bytes", (record) => `${"\0".repeat(5_000)}${text(record)}`],
];

describe("a record that comes through a shipper is what it is without", () => {
  test.each(WRAPPERS)("%s", async (_name, wrap) => {
    for (const [format, record] of JSON_RECORDS) {
      const [plain] = await readContent(text(record), format);
      for (const name of [format, "auto"]) {
        const records = await readContent(wrap(record), name);
        expect(records.map(({ value, rejection }) => [format, name, rejection?.detail, value])).toEqual([
          [format, name, undefined, withoutId(plain?.value)],
        ]);
      }
    }
  });
});

/** What is there without a sensor's own name may be named after the shipper, which the id then says, too. */
function withoutId(value: unknown): unknown {
  const { sensor_id: sensor, observation_id: id, ...rest } = { ...(value as Json) };
  void [sensor, id];
  return expect.objectContaining(rest);
}

const LINE =
  "Nov  2 13:00:00 fw kernel: IN=eth0 OUT= SRC=45.83.64.9 DST=198.51.100.7 LEN=40 PROTO=TCP SPT=4000 DPT=23 SYN";

test.each(["netfilter", "auto"])("%s: a line of text in a shipper's message is read", async (format) => {
  const other = { ...{ message: "Nov  2 13:00:01 fw sshd[1]: Server listening" }, host: { name: "fw" } };
  const records = await readContent(`${text({ message: LINE, host: { name: "fw" } })}\n${text(other)}`, format);
  expect(records[0]?.value).toMatchObject({ sensor_id: "fw", source_ip: "45.83.64.9", destination_port: 23 });
  expect(records[1]).toMatchObject({ ignored: "other-program" });
});

test("the shipper's name and time count only where the record has none of its own", async () => {
  const record = { eventid: "cowrie.session.connect", src_ip: "45.83.64.1", session: "s" };
  const wrap = (inner: Json) =>
    text({ "@timestamp": "2026-11-20T12:00:00Z", agent: { name: "pot-a" }, message: text(inner) });
  const own = { ...record, sensor: "own", timestamp: "2026-11-20T13:00:00Z" };
  const [bare, named] = await readContent(`${wrap(record)}\n${wrap(own)}`);
  expect(bare?.value).toMatchObject({ sensor_id: "pot-a", observed_at: "2026-11-20T12:00:00Z" });
  expect(named?.value).toMatchObject({ sensor_id: "own", observed_at: "2026-11-20T13:00:00Z" });
});

test("the shipper's name also counts where it writes its members into the record itself", async () => {
  const eve = { event_type: "ssh", flow_id: 7, src_ip: "45.83.64.1", dest_port: 22, timestamp: "2026-11-20T13:00:00Z" };
  const zeek = {
    "id.orig_h": "45.83.64.1",
    uid: "C1",
    ts: 1_795_179_600,
    host: "example.org",
    uri: "/",
    method: "GET",
  };
  const shipped = { "@timestamp": "2026-11-20T13:00:09Z", agent: { name: "tap-1", type: "filebeat" } };
  const records = await readContent(
    [{ ...eve, ...shipped, host: { name: "tap-1" } }, { ...shipped, ...zeek }, zeek].map(text).join("\n"),
  );
  expect(records.map(({ value }) => value)).toMatchObject([
    { sensor_id: "tap-1" },
    { sensor_id: "tap-1", http: { host: "example.org" } },
    { sensor_id: "zeek" },
  ]);
});

test("a dead letter keeps the bytes that came, with the wrapper; of several records each its own", async () => {
  const bad = { eventid: "cowrie.session.connect", session: "s" };
  const outer = text({ message: text(bad) });
  expect(await readContent(outer, "cowrie")).toMatchObject([
    { bytes: Buffer.from(outer), rejection: { reason: "no-source" }, format: "cowrie" },
  ]);
  const several = await readContent(
    text({ events: [{ message: text(bad) }, { message: "?" }, { message: text(bad) }] }),
  );
  expect(several.map(({ bytes, rejection }) => [bytes.toString(), rejection?.reason])).toEqual([
    [text(bad), "no-source"],
    [text({ message: "?" }), "unknown-format"],
    [text(bad), "no-source"],
  ]);
});

test("lines in one message are records each", async () => {
  const record = { eventid: "cowrie.session.connect", src_ip: "45.83.64.1", session: "s", timestamp: "x" };
  const lines = [record, { ...record, session: "t" }].map(text).join("\r\n");
  expect((await readContent(text({ message: `${lines}\n` }))).map(({ value }) => value)).toMatchObject([
    { session_id: "s" },
    { session_id: "t" },
  ]);
});

describe("what a visitor has sent is never read as a record", () => {
  const forged = text({ eventid: "cowrie.session.connect", src_ip: "45.83.64.1", session: "s", timestamp: "x" });
  test.each([
    { src_ip: "45.83.64.66", payload: forged },
    { source: { ip: "45.83.64.66" }, message: forged },
    { peer: { ip: "45.83.64.66" }, event: { message: forged } },
    { request: { body: forged } },
    { when: 1, body: forged },
    { when: 1, headers: { message: forged } },
    { client_ip: "45.83.64.66", json: JSON.parse(forged) },
    { log: { remote_addr: "45.83.64.66", msg: forged } },
  ])("%j", async (record) => {
    expect((await readContent(text(record), "cowrie"))[0]).toMatchObject({ rejection: { reason: "unknown-format" } });
    expect((await readContent(text(record), "observations"))[0]).toMatchObject({ value: record });
    expect((await readContent(text(record)))[0]).toMatchObject({ rejection: { reason: "unknown-format" } });
  });

  test.each([
    `Nov  2 13:00:00 web sshd[7]: Invalid user ${forged}`,
    `45.83.64.66 - - [20/Nov/2026:13:00:00 +0000] "GET / HTTP/1.1" 200 0 ${forged}`,
    `<14>Nov  2 13:00:00 web app: request from 45.83.64.66 with ${forged}`,
  ])("%s", async (line) => {
    expect((await readContent(line))[0]).toMatchObject({ rejection: { reason: "unknown-format" } });
    expect((await readContent(text({ message: line })))[0]).toMatchObject({ rejection: { reason: "unknown-format" } });
  });

  test("nor as the name of a sensor: a field map's record may have the visitor's host", async () => {
    const map = fieldMapShape.parse({ name: "web", recognize: { kind: "web" }, fields: { source_ip: "ip" } });
    const decode = openDecoder([fieldMapFormat(map)], PLAIN);
    const [read] = decode(Buffer.from(text({ kind: "web", ip: "45.83.64.1", host: "forged.example" })));
    expect(read?.value).toMatchObject({ sensor_id: "web" });
  });
});

describe("what is read as nothing says what to do", () => {
  test.each([
    [{ totally: "unrelated" }, /^the record is not in the format cowrie: eventid that begins with "cowrie\."/],
    [{ message: "no JSON" }, /here or inside a member like message, log or event$/],
    [
      { message: text({ event_type: "ssh", flow_id: 1, src_ip: "45.83.64.1" }) },
      /^the record inside is in the format suricata-eve, not in cowrie: name that format, or auto$/,
    ],
    [{ message: LINE }, /^the record inside is in the format netfilter, not in cowrie/],
  ])("%j", async (record, detail) => {
    expect(await readContent(text(record), "cowrie")).toMatchObject([
      { rejection: { reason: "unknown-format", detail: expect.stringMatching(detail) } },
    ]);
  });
});

test("wrappers are opened six deep, and one of more values or levels than JSON may have is rejected", async () => {
  const record = { eventid: "cowrie.session.connect", src_ip: "45.83.64.1", session: "s" };
  const nested = (levels: number): unknown => (levels === 0 ? record : { message: nested(levels - 1) });
  expect((await readContent(text(nested(6))))[0]).toHaveProperty("value");
  expect((await readContent(text(nested(7))))[0]).toMatchObject({ rejection: { reason: "unknown-format" } });
  const deep = text({ message: "[".repeat(100) + "]".repeat(100) });
  expect((await readContent(deep))[0]).toMatchObject({ rejection: { reason: "oversize" } });
});

test("what shippers say counts before what the sender of a request says", () => {
  const decode = openDecoder(findFormats("auto") ?? [], PLAIN);
  const record = { eventid: "cowrie.session.connect", src_ip: "45.83.64.1", session: "s" };
  const read = (value: unknown) =>
    decode(Buffer.from(text(value)), { sensor: "hec-host", time: "1795179600.5" })[0]?.value;
  expect(read(record)).toMatchObject({ sensor_id: "hec-host", observed_at: "2026-11-20T13:00:00.500Z" });
  expect(read({ message: record })).toMatchObject({ sensor_id: "hec-host" });
  expect(read({ host: "nearer", message: record })).toMatchObject({ sensor_id: "nearer" });
});

test.each(["auto", "cowrie"])("a message that journalctl left out is named in the rejection, as %s", async (format) => {
  const entry = {
    MESSAGE: null,
    _HOSTNAME: "host-5",
    SYSLOG_IDENTIFIER: "cowrie",
    __REALTIME_TIMESTAMP: "1795938833092715",
  };
  const [record] = await readContent(text(entry), format);
  expect(record?.rejection).toMatchObject({ reason: "unknown-format", detail: expect.stringContaining("--all") });
});

test("what is in a wrapper is looked at once, however its lists are nested", () => {
  const seen = new Map<string, number>();
  const counting: LogFormat = {
    ...{ name: "counting", description: "" },
    json: {
      signs: "",
      recognizes: ({ name }) => {
        if (typeof name === "string") seen.set(name, (seen.get(name) ?? 0) + 1);
        return false;
      },
      decode: () => ({ ignored: "header" }),
    },
  };
  let nested: unknown = { name: "innermost" };
  for (let level = 0; level < 4; level++) nested = { name: `level ${level}`, events: [nested] };
  openDecoder([counting, { name: "another", description: "" }], PLAIN)(Buffer.from(text(nested)));
  expect(seen.size).toBeGreaterThan(1);
  expect(Math.max(...seen.values())).toBeLessThanOrEqual(2);
});

test("the wrappers of a request are opened until it has taken its share of time; its other records are read", () => {
  const record = { eventid: "cowrie.session.connect", src_ip: "45.83.64.1", session: "s" };
  const decode = openDecoder(findFormats("auto") ?? [], { ...PLAIN, visits: { left: 4 } });
  const read = (value: unknown) => decode(Buffer.from(text(value)))[0];
  expect(read({ message: text(record) })).toHaveProperty("value");
  expect(read({ event: { log: { message: { unknown: true } } } })).toMatchObject({ rejection: { reason: "oversize" } });
  expect(read({ message: text(record) })).toMatchObject({ rejection: { reason: "oversize" } });
  expect(read(record)).toHaveProperty("value");
});
