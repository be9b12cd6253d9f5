import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { memoryBudget } from "@noisefloor/http/requests/memory-budget.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN, readContent } from "../../../test/support/ingest/decode.ts";
import { HONEYPOT_RECORDS } from "../../../test/support/ingest/honeypot-records.ts";
import { MONITOR_RECORDS } from "../../../test/support/ingest/monitor-records.ts";
import { readStreams } from "../sources/loki/streams.ts";
import { readLogs } from "../sources/otlp/logs.ts";
import { readSplunkEvents } from "../sources/splunk/events.ts";
import { findFormats, LOG_FORMATS } from "./all.ts";
import { openDecoder } from "./decoder.ts";
import type { FileRecord } from "./format.ts";
import { splitPayload } from "./json/split.ts";

type Outcome = "value" | "rejection" | "ignored";
type Sent = { readonly text: string; readonly outcome: Outcome };

const text = (value: unknown) => JSON.stringify(value);
const RECORDS = [...HONEYPOT_RECORDS, ...MONITOR_RECORDS].flatMap(([format, record]) =>
  typeof record === "string" ? [] : [{ format, record }],
);
const FORMATS = [...new Set(RECORDS.map(({ format }) => format)), "auto"];
const sensible = { src_ip: "45.83.64.1", session: "s", timestamp: "2026-11-20T13:00:00Z" };
const IGNORED = { cowrie: { eventid: "cowrie.client.size", ...sensible } };
const UNKNOWN = [
  { totally: "unrelated" },
  { message: "no record" },
  { log: { level: "info" }, msg: text({ a: [1] }) },
  {},
];
const NO_SOURCE = { cowrie: { eventid: "cowrie.login.failed", session: "s" } };
const WRAPS: readonly ((record: string) => string)[] = [
  (record) => text({ message: record, agent: { name: "shipper" } }),
  (record) => text({ log: `${record}\n`, stream: "stdout", time: "2026-11-20T13:00:09Z" }),
  (record) => `{"_id":"1","_source":${record}}`,
  (record) => text({ message: text({ log: record }) }),
];

/** Records that a sender of this format might send, each with what must become of it. */
function sending(format: string): fc.Arbitrary<readonly Sent[]> {
  const own = RECORDS.filter((one) => format === "auto" || one.format === format).map(({ record }) => text(record));
  const others = RECORDS.filter((one) => format !== "auto" && one.format !== format && one.format !== "tpot");
  const known = fc.constantFrom(...own).map((record): Sent => ({ text: record, outcome: "value" }));
  const wrapped = fc
    .tuple(fc.constantFrom(...own), fc.constantFrom(...WRAPS))
    .map(([record, wrap]): Sent => ({ text: wrap(record), outcome: "value" }));
  const broken = fc
    .tuple(fc.constantFrom(...own), fc.nat())
    .map(
      ([record, place]): Sent => ({ text: record.slice(0, 1 + (place % (record.length - 1))), outcome: "rejection" }),
    );
  const rejected = fc
    .constantFrom(...UNKNOWN, NO_SOURCE.cowrie, ...(format === "tpot" ? [] : others.map(({ record }) => record)))
    .map((record): Sent => ({ text: text(record), outcome: "rejection" }));
  const ignored = fc.constant<Sent>({
    text: text(IGNORED.cowrie),
    outcome: format === "cowrie" || format === "auto" ? "ignored" : "rejection",
  });
  return fc.array(fc.oneof(known, wrapped, broken, rejected, ignored), { minLength: 1, maxLength: 12 });
}

const CRITERIA = { now: Date.parse("2026-11-20T14:00:00Z"), retentionDays: 100, right: "everything" } as const;

function outcomeOf({ ignored, value }: FileRecord): Outcome {
  if (ignored !== undefined) return "ignored";
  return value !== undefined && "observation" in validateObservation(value, CRITERIA) ? "value" : "rejection";
}

function decodeAll(parts: readonly Buffer[], format: string): FileRecord[] {
  const decode = openDecoder(findFormats(format) ?? [], PLAIN);
  return parts.flatMap((bytes) => decode(bytes));
}

/** The ways in, as far as they differ before the pipeline that all share. */
const WAYS: Readonly<Record<string, (sent: readonly Sent[], format: string) => Promise<FileRecord[]>>> = {
  file: (sent, format) => readContent(sent.map((one) => one.text).join("\n"), format),
  "file in pieces": (sent, format) => {
    const bytes = Buffer.from(sent.map((one) => one.text).join("\r\n"));
    return readContent([bytes.subarray(0, 9), bytes.subarray(9, 100), bytes.subarray(100)], format);
  },
  "request or message": async (sent, format) => {
    const parts = splitPayload(Buffer.from(sent.map((one) => one.text).join("\n")), 1_000);
    return Array.isArray(parts) ? decodeAll(parts, format) : [];
  },
  "array of texts": async (sent, format) => {
    const parts = splitPayload(Buffer.from(text(sent.map((one) => one.text))), 1_000);
    return Array.isArray(parts) ? decodeAll(parts, format) : [];
  },
  "event collector": async (sent, format) => {
    const body = sent.map((one) => text({ event: one.text, host: "h", time: 1_795_179_600 })).join("");
    const reservation = memoryBudget(10_000_000).reserve("a sender");
    reservation.hold();
    const { events } = await readSplunkEvents(Buffer.from(body), reservation);
    return decodeAll(
      events.map(({ bytes }) => bytes),
      format,
    );
  },
  OpenTelemetry: async (sent, format) => {
    const logRecords = sent.map((one) => ({ body: { stringValue: one.text } }));
    return readWith(readLogs, { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }, format);
  },
  Loki: async (sent, format) =>
    readWith(readStreams, { streams: [{ values: sent.map((one) => ["1795179600000000000", one.text]) }] }, format),
};

async function readWith(read: typeof readLogs | typeof readStreams, body: object, format: string) {
  const reservation = memoryBudget(10_000_000).reserve("a sender");
  reservation.hold();
  const parts = await read(Buffer.from(text(body)), LOG_FORMATS, reservation);
  return decodeAll(
    parts.map(({ bytes }) => bytes),
    format,
  );
}

test.each(FORMATS)(
  "%s: whatever is sent in whatever order, by any way, each record is accepted, rejected or ignored once",
  async (format) => {
    await fc.assert(
      fc.asyncProperty(sending(format), fc.constantFrom(...Object.keys(WAYS)), async (sent, way) => {
        const records = (await WAYS[way]?.(sent, format)) ?? [];
        expect([way, records.map(outcomeOf)]).toEqual([way, sent.map(({ outcome }) => outcome)]);
      }),
      { numRuns: 150 },
    );
  },
);
