import { randomUUID } from "node:crypto";
import type { ActivityRow } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import type { PublishRight, Sender } from "@noisefloor/domain/access/publishing.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { sumOf } from "../formats/ignored.ts";
import type { IncomingRecord, IngestedRecords } from "../record.ts";

/**
 * How many sensors of one key, or of one source without keys, are counted by name a day; the others are counted as one.
 * Names come from senders, who may make up a new one for each record. Records that were rejected get fewer, or a sender
 * of rubbish would leave no room for the sensors whose records are stored.
 */
const MAX_SENSORS = 1_000;
const MAX_REJECTED_SENSORS = 100;
const OBSERVATIONS = "observations";

/** Counts what became of the records of one source, by key and sensor. */
export type SourceCounts = {
  add(records: IngestedRecords<IncomingRecord>, sender: Partial<Sender>): void;
  addIgnored(counts: ReadonlyMap<string, number>, sender: Partial<Sender>): void;
};

/** What became of the records of all sources in a time. Their sum is what was read. */
export type Outcomes = {
  readonly accepted: number;
  /** The most first. */
  readonly rejected: readonly RejectedBySensor[];
  readonly ignored: Readonly<Record<string, number>>;
};

export type RejectedBySensor = Pick<ActivityRow, "source" | "keyId" | "sensorId" | "outcome" | "records">;

export type SensorCounter = {
  of(source: string): SourceCounts;
  /** The counts that have grown since they were taken last. One that could not be stored is given back. */
  take(): readonly Entry[];
  giveBack(entries: readonly Entry[]): void;
  /** What became of the records since the last call. */
  takeOutcomes(): Outcomes;
  /** Whether any of them were rejected. */
  hasRejected(): boolean;
};

export type Entry = Omit<ActivityRow, "records" | "lastAt"> & { records: number; lastAt: number };

/** Under what records are counted. */
type Named = Pick<ActivityRow, "workspaceId" | "sensorId">;

/** The sensors of one key that are counted by name, each with its workspace. */
type Places = { readonly sensors: Set<string>; readonly entries: Map<string, Entry> };

/** @param now milliseconds since 1970 UTC. */
export function createSensorCounter(now: () => number, run: string = randomUUID()): SensorCounter {
  let places = new Map<string, Places>();
  let [day, hour] = [0, 0];
  let grown = new Set<Entry>();
  let rejected = new Map<Entry, number>();
  let unlogged: { accepted: number; ignored: Record<string, number> } = { accepted: 0, ignored: {} };

  const turn = (at: number) => {
    const thisHour = Math.floor(at / HOUR_MS) * HOUR_MS;
    if (thisHour === hour) return;
    hour = thisHour;
    const today = Math.floor(at / DAY_MS);
    if (today !== day) places = new Map();
    day = today;
    for (const { entries } of places.values()) entries.clear();
  };
  const placesOf = (source: string, keyId: string) => {
    const name = `${source}\n${keyId}`;
    const known = places.get(name) ?? { sensors: new Set<string>(), entries: new Map<string, Entry>() };
    places.set(name, known);
    return known;
  };
  const entryOf = (source: string, keyId: string, named: Named, format: string, outcome: string): Entry => {
    const { sensors, entries } = placesOf(source, keyId);
    const limit = outcome === "accepted" ? MAX_SENSORS : MAX_REJECTED_SENSORS;
    const sensor = `${named.workspaceId}\n${named.sensorId}`;
    const isRest = sensor !== "\n" && !sensors.has(sensor) && sensors.size >= limit;
    if (sensor !== "\n" && !isRest) sensors.add(sensor);
    // A key writes to one workspace at most. Without a key, the rest may be of many.
    const rest = { workspaceId: keyId === "" ? "" : named.workspaceId, sensorId: "" };
    const { workspaceId, sensorId } = isRest ? rest : named;
    const name = `${isRest ? 1 : 0}${outcome}\n${format}\n${workspaceId}\n${sensorId}`;
    const entry = entries.get(name) ?? {
      ...{ hour, source, keyId, workspaceId, sensorId, isRest, format, outcome, process: run },
      ...{ records: 0, lastAt: 0 },
    };
    entries.set(name, entry);
    return entry;
  };

  return {
    of(source) {
      const addTo = (keyId: string, named: Named, format: string, outcome: string, records: number, at: number) => {
        const entry = entryOf(source, keyId, named, format, outcome);
        entry.records += records;
        entry.lastAt = Math.max(entry.lastAt, at);
        grown.add(entry);
        return entry;
      };
      return {
        add({ accepted, rejected: refused }, { keyId = "", sensorId: ofKey = "", right }) {
          const at = now();
          turn(at);
          for (const { format, workspaceId, sensors } of countBySensor(accepted)) {
            for (const [sensorId, records] of sensors) {
              addTo(keyId, { workspaceId, sensorId }, format, "accepted", records, at);
              unlogged.accepted += records;
            }
          }
          const workspaceId = workspaceOf(right);
          for (const { sensorId = ofKey, record, rejection } of refused) {
            const entry = addTo(keyId, { workspaceId, sensorId }, record.format ?? "", rejection.reason, 1, at);
            rejected.set(entry, (rejected.get(entry) ?? 0) + 1);
          }
        },
        addIgnored(counts, { keyId = "", sensorId = "", right }) {
          const at = now();
          turn(at);
          for (const [reason, records] of counts) unlogged.ignored[reason] = (unlogged.ignored[reason] ?? 0) + records;
          const records = sumOf(counts);
          if (records > 0) addTo(keyId, { workspaceId: workspaceOf(right), sensorId }, "", "ignored", records, at);
        },
      };
    },
    take() {
      const taken = [...grown];
      grown = new Set();
      return taken;
    },
    giveBack(entries) {
      for (const entry of entries) grown.add(entry);
    },
    hasRejected: () => rejected.size > 0,
    takeOutcomes() {
      const taken = [...rejected].sort(([, one], [, other]) => other - one);
      const { accepted, ignored } = unlogged;
      rejected = new Map();
      unlogged = { accepted: 0, ignored: {} };
      return {
        accepted,
        ignored,
        rejected: taken.map(([{ source, keyId, sensorId, outcome }, records]) => ({
          ...{ source, keyId, sensorId, outcome, records },
        })),
      };
    },
  };
}

/** The workspace of all that a sender may write; empty for one that may write to several or to the shared datasets. */
const workspaceOf = (right: PublishRight | undefined) => (typeof right === "object" ? right.workspaceId : "");

type Group = { readonly format: string; readonly workspaceId: string; readonly sensors: Map<string, number> };

/** Counted within a batch first: of each of its records only the sensor is looked up. */
function countBySensor(accepted: IngestedRecords<IncomingRecord>["accepted"]): readonly Group[] {
  const groups: Group[] = [];
  let group: Group | undefined;
  for (const { valid, record } of accepted) {
    if (record.isCounted) continue;
    const { format = OBSERVATIONS } = record;
    const { sensor_id: sensorId, workspace_id: workspaceId = "" } = valid.observation;
    if (group?.format !== format || group.workspaceId !== workspaceId) {
      const known = groups.find((one) => one.format === format && one.workspaceId === workspaceId);
      group = known ?? { format, workspaceId, sensors: new Map() };
      if (known === undefined) groups.push(group);
    }
    group.sensors.set(sensorId, (group.sensors.get(sensorId) ?? 0) + 1);
  }
  return groups;
}
