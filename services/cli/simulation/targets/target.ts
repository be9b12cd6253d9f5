import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ValidObservation } from "@noisefloor/domain/observation/observation.ts";
import type { AcceptedRecord, IncomingRecord } from "@noisefloor/ingest/record.ts";

/** Where simulated observations go. */
export type SimulationTarget = {
  /** What the summary calls it. */
  readonly verb: string;
  /** Resolves with how many of those that it takes were accepted, once they are safe. */
  send(observations: readonly ValidObservation[]): Promise<number>;
  close(): Promise<void>;
};

/** @param catalogue gives the ids of the tags that the sensor sends; left out where a consumer looks them up later. */
export function toAccepted(valid: ValidObservation, catalogue?: TagCatalogue): AcceptedRecord<IncomingRecord> {
  const record = { bytes: Buffer.from(JSON.stringify(valid.observation)), fallbackId: "" };
  return { record, valid, tagIds: valid.observation.tags.flatMap((tag) => catalogue?.resolve(tag)?.id ?? []) };
}
