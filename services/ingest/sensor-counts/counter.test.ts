import { expect, test } from "vitest";
import type { IncomingRecord, IngestedRecords } from "../record.ts";
import { createSensorCounter } from "./counter.ts";

const NOON = Date.parse("2026-11-20T12:00:00Z");
const bytes = Buffer.from("{}");

function accepted(...sensors: readonly string[]): IngestedRecords<IncomingRecord> {
  return {
    rejected: [],
    accepted: sensors.map((sensor_id) => ({
      record: { bytes, fallbackId: "" },
      tagIds: [],
      valid: {
        observation: {
          sensor_id,
          dataset: "global",
          observed_at: "",
          source_ip: "45.0.0.1",
          transport: "tcp",
          tags: [],
        },
        observedAt: NOON,
        isFilledIn: false,
      },
    })),
  };
}

function rejected(...sensors: readonly (string | undefined)[]): IngestedRecords<IncomingRecord> {
  const rejection = { reason: "not-json", detail: "" } as const;
  return {
    accepted: [],
    rejected: sensors.map((sensorId) => ({ record: { bytes, fallbackId: "" }, rejection, sensorId })),
  };
}

test("records count for their sensor and key, in the hour in which they came", () => {
  let now = NOON;
  const counter = createSensorCounter(() => now, "run");
  const http = counter.of("http");
  http.add(accepted("a", "a", "b", "a"), { keyId: "k" });
  http.add(accepted("a"), {});
  now += 3_600_000;
  http.add(accepted("a"), { keyId: "k" });
  http.addIgnored(new Map([["own-traffic", 3]]), { keyId: "k", sensorId: "a" });
  const common = { source: "http", process: "run", isRest: false, workspaceId: "" };
  const observed = { ...common, format: "observations", outcome: "accepted" };
  expect(counter.take()).toEqual([
    { ...observed, hour: NOON, keyId: "k", sensorId: "a", records: 3, lastAt: NOON },
    { ...observed, hour: NOON, keyId: "k", sensorId: "b", records: 1, lastAt: NOON },
    { ...observed, hour: NOON, keyId: "", sensorId: "a", records: 1, lastAt: NOON },
    { ...observed, hour: now, keyId: "k", sensorId: "a", records: 1, lastAt: now },
    { ...common, format: "", outcome: "ignored", hour: now, keyId: "k", sensorId: "a", records: 3, lastAt: now },
  ]);
  expect(counter.take()).toEqual([]);
});

test("records count for the workspace whose personal data they are, or to which their key is bound", () => {
  const counter = createSensorCounter(() => NOON, "run");
  const kafka = counter.of("kafka");
  const [own, shared, other] = accepted("a", "a", "b").accepted;
  if (own === undefined || shared === undefined || other === undefined) throw new Error("three were made");
  const personal = { dataset: "personal", workspace_id: "team" } as const;
  const inTeam = (one: typeof own) => {
    const observation = { ...one.valid.observation, ...personal };
    return { ...one, valid: { ...one.valid, observation } };
  };
  kafka.add({ rejected: [], accepted: [inTeam(own), shared, inTeam(other), inTeam(own)] }, { right: "everything" });
  kafka.add(rejected("a"), { right: "everything" });
  counter.of("http").add(rejected("a"), { keyId: "k", right: { dataset: "personal", workspaceId: "team" } });
  counter
    .of("http")
    .addIgnored(new Map([["header", 2]]), { keyId: "k", right: { dataset: "personal", workspaceId: "team" } });
  const counts = counter
    .take()
    .map(({ source, workspaceId, sensorId, outcome, records }) => [source, workspaceId, sensorId, outcome, records]);
  expect(counts).toEqual([
    ["kafka", "team", "a", "accepted", 2],
    ["kafka", "team", "b", "accepted", 1],
    ["kafka", "", "a", "accepted", 1],
    ["kafka", "", "a", "not-json", 1],
    ["http", "team", "a", "not-json", 1],
    ["http", "team", "", "ignored", 2],
  ]);
});

test("a count grows on after it was stored, so that the largest is the count", () => {
  const counter = createSensorCounter(() => NOON);
  const kafka = counter.of("kafka");
  kafka.add(accepted("a", "a"), {});
  expect(counter.take().map(({ records }) => records)).toEqual([2]);
  kafka.add(accepted("a"), {});
  expect(counter.take().map(({ records }) => records)).toEqual([3]);
});

test("names that a sender makes up are bounded, count together, and take no other key's place", () => {
  const counter = createSensorCounter(() => NOON);
  const http = counter.of("http");
  const names = (prefix: string) => Array.from({ length: 5_000 }, (_, index) => `${prefix}${index}`);
  http.add(rejected(...names("rubbish")), { keyId: "hostile" });
  http.add(accepted(...names("made-up")), { keyId: "hostile" });
  http.add(accepted("honest"), { keyId: "other" });
  const entries = counter.take();
  const sum = (outcome: string, isRest: boolean) =>
    entries
      .filter((entry) => entry.keyId === "hostile" && entry.outcome === outcome && entry.isRest === isRest)
      .reduce((total, { records }) => total + records, 0);
  expect([sum("not-json", false), sum("not-json", true)]).toEqual([100, 4_900]);
  expect([sum("accepted", false), sum("accepted", true)]).toEqual([900, 4_100]);
  expect(entries.filter(({ keyId }) => keyId === "other")).toMatchObject([{ sensorId: "honest", records: 1 }]);
});

test("the log's line says who sent most of what was rejected", () => {
  const counter = createSensorCounter(() => NOON);
  const http = counter.of("http");
  http.add(rejected("a", "b", "b"), { keyId: "k" });
  http.add(rejected(undefined), { keyId: "l", sensorId: "cellar" });
  expect(counter.hasRejected()).toBe(true);
  expect(counter.takeOutcomes().rejected).toEqual([
    { source: "http", keyId: "k", sensorId: "b", outcome: "not-json", records: 2 },
    { source: "http", keyId: "k", sensorId: "a", outcome: "not-json", records: 1 },
    { source: "http", keyId: "l", sensorId: "cellar", outcome: "not-json", records: 1 },
  ]);
  expect(counter.hasRejected()).toBe(false);
  expect(counter.takeOutcomes()).toEqual({ accepted: 0, rejected: [], ignored: {} });
});

test("the log's line says how many were accepted, and why others were ignored", () => {
  const counter = createSensorCounter(() => NOON);
  counter.of("http").add(accepted("a", "b"), { keyId: "k" });
  counter.of("http").addIgnored(new Map([["own-traffic", 3]]), { keyId: "k" });
  counter.of("kafka").addIgnored(
    new Map([
      ["own-traffic", 1],
      ["answer", 2],
    ]),
    {},
  );
  expect(counter.takeOutcomes()).toEqual({ accepted: 2, rejected: [], ignored: { "own-traffic": 4, answer: 2 } });
});
