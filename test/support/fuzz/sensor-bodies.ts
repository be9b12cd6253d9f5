import fc from "fast-check";
import { broken, withOtherHeader } from "./bodies.ts";
import type { Payload } from "./drafts.ts";
import { UNKNOWN_ENCODING } from "./intake-bodies.ts";
import { wildText } from "./wild-text.ts";

const seen = { src_ip: "45.9.9.1", session: "5e55", sensor: "pot", timestamp: new Date().toISOString() };
/** Records of sensors: good ones, their own traffic, and some that cannot be read. */
const RECORDS = [
  JSON.stringify({ eventid: "cowrie.session.connect", ...seen, dst_port: 22, protocol: "ssh" }),
  JSON.stringify({ eventid: "cowrie.login.failed", ...seen, username: "root", password: "\u0000\ud83d" }),
  JSON.stringify({ eventid: "cowrie.log.closed", ...seen }),
  JSON.stringify({ type: "Tanner", "@timestamp": seen.timestamp, src_ip: "45.9.9.2", dest_port: 80, path: "/?a=1" }),
  JSON.stringify({ type: "Suricata", "@timestamp": "never", src_ip: "10.0.0.1", event_type: "alert", flow_id: 1 }),
  '{"type":1,"@timestamp":{"$date":[]},"src_ip":{},"t-pot_hostname":"x"}',
  JSON.stringify({ observed_at: seen.timestamp, sensor_id: "pot", source_ip: "45.9.9.3" }),
  '{"__proto__":{"a":1},"eventid":"cowrie."}',
  "{}",
];

const ACTIONS = ["create", "index", "create", "update"];

/** As T-Pot's Logstash, a client of Splunk, Elasticsearch, OpenTelemetry or Loki, or a file has the records. */
const WRITE = {
  array: (records: readonly string[]) => `[${records.join(",")}]`,
  events: (records: readonly string[]) => records.map((record) => `{"event":${record}}`).join(""),
  lines: (records: readonly string[]) => records.join("\n"),
  logRecords: (records: readonly string[]) =>
    JSON.stringify({
      resourceLogs: [{ scopeLogs: [{ logRecords: records.map((stringValue) => ({ body: { stringValue } })) }] }],
    }),
  streams: (records: readonly string[]) =>
    JSON.stringify({ streams: [{ stream: { host: "pot" }, values: records.map((record) => ["1", record]) }] }),
  document: ([record = ""]: readonly string[]) => record,
  pairs: (records: readonly string[]) =>
    records.map((record, index) => `{"${ACTIONS[index % ACTIONS.length]}":{}}\n${record}\n`).join(""),
};

/** Bodies with the records of sensors, and damaged ones. */
export function sensorBodies(shape: keyof typeof WRITE): { plain: fc.Arbitrary<Payload>; odd: fc.Arbitrary<Payload> } {
  const write = WRITE[shape];
  const plain = fc.array(fc.constantFrom(...RECORDS), { minLength: 1, maxLength: 6, size: "max" }).map(
    (records): Payload => ({
      bytes: Buffer.from(write(records)),
      headers: {},
      expects: "anything",
    }),
  );
  const tooMany = write(Array.from({ length: 50_001 }, () => "{}"));
  const rejected = [
    { ...UNKNOWN_ENCODING, expects: "anything" },
    { bytes: Buffer.from(tooMany), headers: {}, expects: "anything" },
  ] as const;
  const odd = fc.oneof(
    fc.constantFrom<Payload>(...rejected),
    broken(plain),
    withOtherHeader(plain),
    wildText.map((text): Payload => ({ bytes: Buffer.from(text), headers: {}, expects: "anything" })),
  );
  return { plain, odd };
}
