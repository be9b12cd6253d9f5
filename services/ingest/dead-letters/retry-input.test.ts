import { expect, test } from "vitest";
import type { OpenedDeadLetter } from "./read.ts";
import { toRetryInput } from "./retry-input.ts";

const record = Buffer.from('{"eventid":"cowrie.login.failed"}');
const observation = { source_ip: "45.0.0.1", session_id: "s" };
const message = { topic: "cowrie", partition: 0, offset: "7", key: Buffer.alloc(0), keyBytes: 0, headers: {} };

const letter = (source: OpenedDeadLetter["source"], value: string): OpenedDeadLetter => ({
  id: "0".repeat(16),
  source,
  origin: "origin",
  position: 1,
  receivedAt: 0,
  retriedAt: undefined,
  isDone: false,
  reason: "in-the-future",
  detail: "",
  firstReason: "in-the-future",
  payload: record,
  payloadBytes: record.length,
  keptBytes: record.length,
  value,
  publishRight: "everything",
  keyId: "",
  keySensorId: "",
  sensorId: "",
  message: source === "kafka" ? message : undefined,
});

test.each(["http", "kafka", "hpfeeds", "file"] as const)(
  "a sensor's own record from %s is retried as the observation that was read out of it",
  (source) => {
    expect(toRetryInput(letter(source, JSON.stringify(observation)))).toMatchObject({
      kind: "records",
      records: [{ bytes: record, value: observation }],
    });
  },
);

test.each(["http", "kafka"] as const)("a record of ours from %s is retried as its bytes", (source) => {
  const input = toRetryInput(letter(source, ""));
  expect(input.kind === "records" && input.records.map((one) => ["value" in one, one.bytes])).toEqual([
    [false, record],
  ]);
});
