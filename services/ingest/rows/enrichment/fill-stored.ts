import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  fillObservations,
  readIncomplete,
  readIncompleteBlocks,
  type SourceFacts,
} from "@noisefloor/clickhouse/observations/observation-facts.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Enricher } from "./enricher.ts";

/** The maximum number of sources whose observations an insert reads and writes, and of those observations. */
const SOURCES_AT_ONCE = 2_000;
const OBSERVATIONS_AT_ONCE = 250_000;

export type FillOptions = Pick<Enricher, "factsOf"> & {
  /** The oldest observations to fill, in milliseconds since 1970 UTC. */
  readonly since: number;
  /** Counts what would be filled, and changes nothing. */
  readonly dryRun: boolean;
  /** Called when another part of the work is done. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Aborted, nothing more is begun. */
  readonly signal?: AbortSignal | undefined;
};

type Tally = { observations: number; sources: number };

export type FillSummary = {
  /** Got a network or a country that they lacked. */
  readonly filled: Tally;
  /** Got nothing: no database knows what they lack. */
  readonly unknown: Tally;
  readonly isComplete: boolean;
};

/**
 * Fills in the networks and the countries that stored observations lack. Interrupted, it goes on where it stopped when
 * it is called again: what is filled is not found any more.
 */
export async function fillStored(client: ClickHouseClient, options: FillOptions): Promise<FillSummary> {
  const { since, dryRun, signal, factsOf, onProgress = () => {} } = options;
  const filled: Tally = { observations: 0, sources: 0 };
  const unknown: Tally = { observations: 0, sources: 0 };
  const blocks = await readIncompleteBlocks(client, since);
  for (const [number, block] of blocks.entries()) {
    if (signal?.aborted) return { filled, unknown, isComplete: false };
    const found = await readIncomplete(client, block, since);
    let batch = new Map<number, SourceFacts>();
    let batchRows = 0;
    const flush = async () => {
      if (!dryRun) await fillObservations(client, batch, since);
      filled.observations += batchRows;
      filled.sources += batch.size;
      batch = new Map();
      batchRows = 0;
    };
    for (const [index, address] of found.addresses.entries()) {
      if (signal?.aborted) return { filled, unknown, isComplete: false };
      const facts = toSourceFacts(factsOf(numberToIpv4(address)));
      const incomplete = found.incomplete[index] ?? 0;
      const canFill = countFillable(facts, {
        incomplete,
        withoutAsn: found.withoutAsn[index] ?? 0,
        withoutCountry: found.withoutCountry[index] ?? 0,
      });
      if (canFill < incomplete) {
        unknown.observations += incomplete - canFill;
        unknown.sources++;
      }
      if (canFill === 0) continue;
      if (batch.size > 0 && batchRows + canFill > OBSERVATIONS_AT_ONCE) await flush();
      batch.set(address, facts);
      batchRows += canFill;
      if (batch.size >= SOURCES_AT_ONCE) await flush();
    }
    await flush();
    onProgress(number + 1, blocks.length);
  }
  return { filled, unknown, isComplete: true };
}

/** How many of a source's observations get something that they lack. */
function countFillable(
  { asn, country }: SourceFacts,
  counts: { readonly incomplete: number; readonly withoutAsn: number; readonly withoutCountry: number },
): number {
  if (asn !== 0 && country !== "") return counts.incomplete;
  if (asn !== 0) return counts.withoutAsn;
  return country === "" ? 0 : counts.withoutCountry;
}

function toSourceFacts(facts: ReturnType<Enricher["factsOf"]>): SourceFacts {
  const { asn = 0, organization = "", country = "", region = "", city = "", latitude = 0, longitude = 0 } = facts;
  return { asn, organization, country, region, city, latitude, longitude };
}
