import type { FacetChanges } from "@noisefloor/clickhouse/changes/facet-changes.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type FacetMembers, type FieldOfDataset, readMembers } from "@noisefloor/clickhouse/facets/facet-members.ts";
import { runInChunks, yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { Dictionary } from "./dictionary.ts";
import { Facet } from "./facet.ts";
import type { Ordinals } from "./ordinals.ts";
import { type MembersOfValue, packOrdinal, toSegment } from "./segment.ts";

/** Reads a field of a dataset from the store. Addresses without an ordinal get one. */
export async function loadFacet(
  client: ClickHouseClient,
  of: FieldOfDataset,
  times: { readonly since: number; readonly epoch: number },
  ordinals: Ordinals,
): Promise<Facet> {
  const texts: Buffer[] = [];
  const lengths: Uint32Array[] = [];
  const members: Uint32Array[] = [];
  const packed: Uint32Array[] = [];
  const lower: Uint32Array[] = [];
  await readMembers(client, of, times, async (block) => {
    const values = block.value.map((value) => Buffer.from(value));
    texts.push(Buffer.concat(values));
    lengths.push(Uint32Array.from(values, ({ length }) => length));
    members.push(block.members);
    const { ordinals: words, times: others } = await packMembers(block, ordinals);
    packed.push(words);
    lower.push(others);
  });
  const ends = toEnds(joined(lengths));
  const dictionary = new Dictionary(Buffer.concat(texts), ends);
  const values = Uint32Array.from(ends.keys());
  return new Facet(dictionary, {
    values,
    ends: toEnds(joined(members)),
    ordinals: joined(packed),
    times: joined(lower),
  });
}

/** Values whose members are compared before others get their turn. */
const GROUPS_PER_STEP = 1_000;

/**
 * Prepares what was stored since, without what was loaded. Addresses without an ordinal get one.
 * @returns what adds it to its facets, each in the same turn.
 */
export async function prepareChanges(
  changes: Omit<FacetChanges, "blocks" | "version">,
  facetOf: (name: string) => Facet | undefined,
  ordinals: Ordinals,
): Promise<readonly (() => void)[]> {
  const { ordinals: words, times } = await packMembers(changes, ordinals);
  const groups = new Map<Facet, MembersOfValue[]>();
  let [next, count] = [0, 0];
  for (const [index, name] of changes.names.entries()) {
    if (index % GROUPS_PER_STEP === GROUPS_PER_STEP - 1) await yieldToEventLoop();
    const first = next;
    next += changes.members[index] ?? 0;
    const facet = facetOf(name);
    if (facet === undefined) continue;
    const value = facet.dictionary.add(changes.values[index] ?? "");
    const start = count;
    for (let member = first; member < next; member++) {
      const [word = 0, time = 0] = [words[member], times[member]];
      if (facet.hasLoaded(value, word, time)) continue;
      words[count] = word;
      times[count++] = time;
    }
    if (count === start) continue;
    const ofFacet = groups.get(facet) ?? [];
    groups.set(facet, ofFacet);
    ofFacet.push({ value, start, end: count });
  }
  const additions: (() => void)[] = [];
  for (const [facet, ofFacet] of groups) {
    const segment = toSegment(ofFacet, { ordinals: words, times });
    additions.push(() => facet.add(segment));
    await yieldToEventLoop();
  }
  return additions;
}

/** The members of a segment, in two words each. */
async function packMembers({ addresses, times }: Pick<FacetMembers, "addresses" | "times">, ordinals: Ordinals) {
  const words = { ordinals: new Uint32Array(addresses.length), times: new Uint32Array(addresses.length) };
  await runInChunks(addresses.length, (from, end) => {
    for (let index = from; index < end; index++) {
      words.ordinals[index] = packOrdinal(ordinals.add(addresses[index] ?? 0), times[2 * index + 1] ?? 0);
      words.times[index] = times[2 * index] ?? 0;
    }
  });
  return words;
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Where things of some lengths end that stand one after the other. */
function toEnds(lengths: Uint32Array): Uint32Array {
  let end = 0;
  return lengths.map((length) => (end += length));
}
