import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { type RowBinaryWriter, rowBinaryWriter } from "@noisefloor/clickhouse/client/row-binary.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { type RowIdentity, toRow } from "@noisefloor/ingest/observation-row.ts";
import { type ColumnGroup, type EncodeRows, encodeInPieces, writeGroup } from "@noisefloor/ingest/sinks/encode-rows.ts";
import { assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
import type { OpenRows } from "../../row-options.ts";
import type { Content } from "../content.ts";
import type { Sensor } from "../fleet.ts";
import { isTaggedZmap, observationIdOf, sessionIdOf, toObservation } from "../observation.ts";
import type { SimulatedInternet, SimulatedObservation } from "../simulate.ts";
import type { Source } from "../sources.ts";

export type EncoderOptions = {
  readonly internet: SimulatedInternet;
  readonly rows: Pick<OpenRows["rows"], "prepare" | "enrich">;
  readonly currentRules: OpenRows["currentRules"];
  readonly catalogue: TagCatalogue;
};

/**
 * Makes a function that writes simulated observations as the rows that the intake would make of them. What many rows
 * share (a source with its network, a sensor, what is sent, the tags) is made and written once and then copied: a row
 * takes a fifth of the time.
 */
export function simulatedEncoder(options: EncoderOptions): EncodeRows<SimulatedObservation> {
  const to = rowBinaryWriter();
  const contents = new WeakMap<Content, Buffer>();
  return async (batch) => {
    await options.rows.prepare?.(batch.map((one) => toObservation(options.internet, one).observation));
    const shared = sharedBytes(options, contents);
    const write = (one: SimulatedObservation) => {
      writeVisit(to, one);
      const source = shared.ofSource(one);
      to.bytes(shared.ofSensor(one));
      to.bytes(source.bytes);
      to.bytes(shared.ofTags(one, source));
      to.bytes(shared.ofContent(one));
    };
    return encodeInPieces(batch, { to, write, idOf: observationIdOf });
  };
}

/** The columns of the group `visit`, in their order. */
function writeVisit(to: RowBinaryWriter, one: SimulatedObservation): void {
  to.text(observationIdOf(one));
  to.time(one.observedAt);
  to.nullableUint16(one.sourcePort);
  to.text(sessionIdOf(one));
  to.uint64s(undefined);
}

type SourceBytes = {
  readonly bytes: Buffer;
  /** What rules see of it, without the tag that a sensor gives it and with it. */
  readonly key: string;
  readonly zmapKey: string;
};

const NOTHING: Content = {};

/** Kept for one batch: the databases and the catalogue may change, but the rules of a batch are the same for all. */
function sharedBytes({ internet, rows, currentRules, catalogue }: EncoderOptions, contents: WeakMap<Content, Buffer>) {
  const to = rowBinaryWriter();
  const rules = currentRules();
  const sensors = new Map<Sensor, Buffer>();
  /** As sensors see them that know no places, and those that do. */
  const sources = [new Map<Source, SourceBytes>(), new Map<Source, SourceBytes>()] as const;
  const tags = new Map<Content, Map<string, Buffer>>();

  const complete = (one: SimulatedObservation): ValidObservation => {
    const valid = toObservation(internet, one);
    rows.enrich?.(valid.observation);
    return valid;
  };
  const encode = (group: ColumnGroup, valid: ValidObservation, assigned: Omit<RowIdentity, "observationId">) => {
    to.clear();
    writeGroup(group, to, toRow(valid, { observationId: "", ...assigned }));
    return to.copy();
  };
  const encodeTags = (one: SimulatedObservation) => {
    const valid = complete(one);
    const own = valid.observation.tags.flatMap((tag) => catalogue.resolve(tag)?.id ?? []);
    const tagger = { tagsFor: () => rules.tagsFor(valid.observation, one.content) };
    return encode("tags", valid, assignTags(valid.observation, own, catalogue, tagger));
  };
  return {
    ofSensor: (one: SimulatedObservation) =>
      getOrAdd(sensors, one.sensor, () => encode("sensor", complete(one), { tagIds: [] })),
    ofSource: (one: SimulatedObservation) =>
      getOrAdd(sources[one.sensor.knowsPlaces ? 1 : 0], one.source, () => {
        const valid = complete({ ...one, content: NOTHING, sourcePort: undefined });
        const key = rules.sourceKey(valid.observation);
        return { bytes: encode("source", valid, { tagIds: [] }), key, zmapKey: `${key} zmap` };
      }),
    ofTags(one: SimulatedObservation, { key, zmapKey }: SourceBytes) {
      if (rules.asksForVisit(one.sourcePort)) return encodeTags(one);
      const ofContent = getOrAdd(tags, one.content, () => new Map<string, Buffer>());
      return getOrAdd(ofContent, isTaggedZmap(one) ? zmapKey : key, () => encodeTags(one));
    },
    ofContent: (one: SimulatedObservation) =>
      getOrAdd(contents, one.content, () => encode("content", complete(one), { tagIds: [] })),
  };
}

type Lookup<K, V> = { get(key: K): V | undefined; set(key: K, value: V): unknown };

function getOrAdd<K, V>(known: Lookup<K, V>, key: K, make: () => V): V {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}
