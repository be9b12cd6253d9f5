import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { type ValueWriter, valueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";
import { NULLABLE_UINT16, TEXT, UINT64S } from "@noisefloor/clickhouse/client/written-types.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import { observationsFormat } from "@noisefloor/ingest/formats/observations.ts";
import { toRow } from "@noisefloor/ingest/rows/observation-row.ts";
import { type ColumnGroup, writeGroup } from "@noisefloor/ingest/store/columns.ts";
import { encodeInPieces, type RowEncoder } from "@noisefloor/ingest/store/encode-rows.ts";
import { type AssignedTags, assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
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
  readonly hasChanged: OpenRows["hasChanged"];
  readonly catalogue: TagCatalogue;
};

/**
 * Makes a function that writes simulated observations as the rows that the intake would make of them. What many rows
 * share (a source with its network, a sensor, what is sent, the tags) is made and written once and then copied: a row
 * takes less than half of the time.
 */
export function simulatedEncoder(options: EncoderOptions): RowEncoder<SimulatedObservation> {
  const to = valueWriter();
  let newest = sharedBytes(options);
  return {
    format: "RowBinary",
    async encode(batch) {
      await options.rows.prepare?.(batch.map((one) => toObservation(options.internet, one).observation));
      if (options.hasChanged()) newest = sharedBytes(options);
      const shared = newest;
      const write = (one: SimulatedObservation) => {
        writeVisit(to, one);
        const [source, content] = [shared.ofSource(one), shared.ofContent(one)];
        to.bytes(shared.ofSensor(one));
        to.bytes(source.bytes);
        to.bytes(shared.ofTags(one, source, content));
        to.bytes(content.bytes);
      };
      return encodeInPieces(batch, { to, write, idOf: observationIdOf });
    },
  };
}

/** The columns of the group `visit`, in their order. */
function writeVisit(to: ValueWriter, one: SimulatedObservation): void {
  to.text(observationIdOf(one));
  to.time(one.observedAt);
  NULLABLE_UINT16.write(to, one.sourcePort);
  TEXT.write(to, sessionIdOf(one));
  UINT64S.write(to, undefined);
}

type SourceBytes = {
  readonly bytes: Buffer;
  /** What rules see of it, without the tag that a sensor gives it and with it. */
  readonly key: string;
  readonly zmapKey: string;
};

type ContentBytes = {
  readonly bytes: Buffer;
  /** Of its tags, by the key of a source. */
  readonly tags: Map<string, Buffer>;
};

const NOTHING: Content = {};
/** Some ten megabytes. Most sources that come again do so before as many others have come. */
const MAX_SOURCES = 65_536;
/** Where rules compare names of sources, each has a key of its own. */
const MAX_KEYS = 256;

/** The bytes of columns that rows share, until something changes that they are made with. */
function sharedBytes({ internet, rows, currentRules, catalogue }: EncoderOptions) {
  const to = valueWriter();
  const rules = currentRules();
  const sensors = new Map<Sensor, Buffer>();
  const sources = {
    withoutPlace: new Map<Source, SourceBytes>(),
    withPlace: new Map<Source, SourceBytes>(),
  };
  const contents = new Map<Content, ContentBytes>();

  const complete = (one: SimulatedObservation): ValidObservation => {
    const valid = toObservation(internet, one);
    rows.enrich?.(valid.observation);
    return valid;
  };
  const encode = (group: ColumnGroup, valid: ValidObservation, assigned: AssignedTags = { tagIds: [] }) => {
    to.clear();
    writeGroup(group, to, toRow(valid, { observationId: "", format: observationsFormat.name, ...assigned }));
    return to.copy();
  };
  const encodeSource = (one: SimulatedObservation): SourceBytes => {
    const valid = complete({ ...one, content: NOTHING, sourcePort: undefined });
    const key = rules.sourceKey(valid.observation);
    return { bytes: encode("source", valid), key, zmapKey: `${key} zmap` };
  };
  const encodeTags = (one: SimulatedObservation): Buffer => {
    const valid = complete(one);
    const own = valid.observation.tags.flatMap((tag) => catalogue.resolve(tag)?.id ?? []);
    const tagger = { tagsFor: () => rules.tagsFor(valid.observation, one.content) };
    return encode("tags", valid, assignTags(valid.observation, own, catalogue, tagger));
  };
  return {
    ofSensor(one: SimulatedObservation): Buffer {
      const known = sensors.get(one.sensor) ?? encode("sensor", complete(one));
      sensors.set(one.sensor, known);
      return known;
    },
    ofSource(one: SimulatedObservation): SourceBytes {
      const seen = one.sensor.knowsPlaces ? sources.withPlace : sources.withoutPlace;
      const known = seen.get(one.source);
      if (known !== undefined) return known;
      if (seen.size >= MAX_SOURCES) seen.clear();
      const made = encodeSource(one);
      seen.set(one.source, made);
      return made;
    },
    ofContent(one: SimulatedObservation): ContentBytes {
      const known = contents.get(one.content);
      if (known !== undefined) return known;
      const made = { bytes: encode("content", complete(one)), tags: new Map<string, Buffer>() };
      contents.set(one.content, made);
      return made;
    },
    ofTags(one: SimulatedObservation, { key, zmapKey }: SourceBytes, { tags }: ContentBytes): Buffer {
      if (rules.asksForVisit(one.sourcePort)) return encodeTags(one);
      const tagsKey = isTaggedZmap(one) ? zmapKey : key;
      const known = tags.get(tagsKey);
      if (known !== undefined) return known;
      if (tags.size >= MAX_KEYS) tags.clear();
      const made = encodeTags(one);
      tags.set(tagsKey, made);
      return made;
    },
  };
}
