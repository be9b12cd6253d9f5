import type { MemberField } from "@noisefloor/clickhouse/facets/facet-members.ts";
import type { FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import type { SetQuery } from "../conditions/address-set.ts";
import { textMerger } from "../conditions/merge-texts.ts";
import { andInto, type Bits, countBits, countBoth, ordinalsFrom } from "../facet-index/bits.ts";
import { countParts, countValues, type ValueCounting } from "../facet-index/count-values.ts";
import { fieldsOf, openEvaluator } from "../facet-index/evaluate.ts";
import type { Facet } from "../facet-index/facet.ts";
import type { FacetIndex, OpenFacets } from "../facet-index/facet-index.ts";
import { ListedAddresses } from "../facet-index/listed-addresses.ts";
import type { Ordinals } from "../facet-index/ordinals.ts";
import { splitTime } from "../facet-index/segment.ts";
import type { FoundPage, FoundValue, NarrowerCounts } from "./found.ts";
import type { Search } from "./search.ts";

/** The same as the questions of the store; undefined where memory has no answer, so that the store must be asked. */
export type QuestionsInMemory = {
  page(search: Search, page: { first: number; limit: number }, signal: AbortSignal): Promise<FoundPage | undefined>;
  counts(search: Search, narrower: readonly SetQuery[], signal: AbortSignal): Promise<NarrowerCounts | undefined>;
  values(
    search: Search,
    fields: readonly FacetField[],
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly FoundValue[] | undefined>;
  /** Which of some addresses match. Many searches are asked about the same array. */
  among(search: Search, addresses: Uint32Array, signal: AbortSignal): Promise<readonly number[] | undefined>;
};

/** New observations came while a search was evaluated: it is evaluated again, this many times in all. */
const MAX_ATTEMPTS = 3;

export function answerInMemory(index: FacetIndex): QuestionsInMemory {
  const listed = new WeakMap<Ordinals, ListedAddresses>();
  const listedOf = (ordinals: Ordinals, { names }: Search) => {
    const current = listed.get(ordinals);
    if (current?.networks === names.networks) return current;
    const next = new ListedAddresses(names.networks);
    listed.set(ordinals, next);
    return next;
  };

  const asked = new WeakMap<Uint32Array, { readonly of: Ordinals; readonly size: number; readonly bits: Bits }>();
  const bitsOf = (addresses: Uint32Array, ordinals: Ordinals) => {
    const { size } = ordinals;
    const known = asked.get(addresses);
    if (known?.of === ordinals && known.size === size) return known.bits;
    const bits = new Uint32Array(Math.ceil(size / 32));
    for (const address of addresses) {
      const ordinal = ordinals.find(address);
      if (ordinal !== undefined) bits[ordinal >>> 5] = (bits[ordinal >>> 5] ?? 0) | (1 << ordinal);
    }
    asked.set(addresses, { of: ordinals, size, bits });
    return bits;
  };

  type Found = OpenFacets & { readonly matching: Bits; readonly found: Bits; readonly narrower: readonly Bits[] };
  function* find(search: Search, open: OpenFacets, narrower: readonly SetQuery[]): Generator<void, Found> {
    const merge = textMerger();
    const evaluator = openEvaluator({ ...open, listed: listedOf(open.ordinals, search), from: search.from });
    const query = merge(search.resolved);
    const matching = yield* evaluator.matching(query);
    const found = search.reach === undefined ? matching : yield* evaluator.seenSince(matching, search.reach);
    const bits: Bits[] = [];
    for (const part of narrower) bits.push(yield* evaluator.matching(merge(part)));
    return { ...open, matching, found, narrower: bits };
  }
  async function ask<T>(
    search: Search,
    { narrower = [], more = [] }: { readonly narrower?: readonly SetQuery[]; readonly more?: readonly MemberField[] },
    answer: (finding: Generator<void, Found>) => Generator<void, T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const fields = fieldsOf([search.resolved, ...narrower]);
    if (fields === undefined) return undefined;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const open = index.open([...fields, ...more], search.scopes);
      if (open === undefined) return undefined;
      const result = await runInSteps(answer(find(search, open, narrower)), signal);
      if (open.isCurrent()) return result;
    }
    return undefined;
  }

  return {
    page: (search, page, signal) =>
      ask(
        search,
        {},
        function* (finding) {
          const { matching, found, ordinals } = yield* finding;
          const addresses = firstAddresses(found, ordinals, page);
          return { count: countBits(found), matching: countBits(matching), addresses };
        },
        signal,
      ),
    counts: (search, narrower, signal) =>
      ask(
        search,
        { narrower },
        function* (finding) {
          const { matching, found, narrower: bits } = yield* finding;
          const counts = bits.map((one) => countBoth(found, one));
          return { count: countBits(found), matching: countBits(matching), narrower: counts };
        },
        signal,
      ),
    // Of several scopes an address may have the same value in each.
    values: async (search, fields, limit, signal) =>
      search.scopes.length > 1
        ? undefined
        : ask(
            search,
            { more: fields },
            function* (finding) {
              const { found, facetsOf, epoch } = yield* finding;
              const counting = { bits: found, since: splitTime(search.from - epoch), limit };
              const values: FoundValue[] = [];
              for (const field of fields) {
                for (const { facet } of facetsOf(field)) values.push(...(yield* countField(field, facet, counting)));
              }
              return values;
            },
            signal,
          ),
    among: (search, addresses, signal) =>
      ask(
        search,
        {},
        function* (finding) {
          const { found, ordinals } = yield* finding;
          const common = found.slice();
          andInto(common, bitsOf(addresses, ordinals));
          return [...ordinalsFrom(common, 0)].map((ordinal) => ordinals.addressOf(ordinal));
        },
        signal,
      ),
  };
}

function* countField(field: FacetField, facet: Facet, counting: ValueCounting): Generator<void, readonly FoundValue[]> {
  const named = (name: FoundValue["field"], values: readonly { value: string; count: number }[]) =>
    values.map(({ value, count }) => ({ field: name, value, count }));
  switch (field) {
    case "network":
      return [
        ...named("asn", yield* countParts(facet, asnOf, counting)),
        ...named("organization", yield* countParts(facet, organizationOf, counting)),
      ];
    case "tag": {
      const counts = yield* countValues(facet, { ...counting, limit: counting.limit + 1 });
      return named(field, counts.filter(({ value }) => value !== ATTACK_TAG_ID).slice(0, counting.limit));
    }
    default:
      return named(field, yield* countValues(facet, counting));
  }
}

/** The parts of a value of `network`, as `NETWORK_ASN` and `NETWORK_ORGANIZATION` are. */
const asnOf = (value: string) => (value < "0000000001" ? "" : `AS${Number(value.slice(0, 10))}`);
const organizationOf = (value: string) => value.slice(11);

/** The first addresses of a set from a number on, ascending. */
function firstAddresses(bits: Bits, ordinals: Ordinals, { first, limit }: { first: number; limit: number }): number[] {
  const addresses: number[] = [];
  for (const ordinal of ordinalsFrom(bits, ordinals.firstFrom(first))) {
    if (ordinal >= ordinals.inOrder || addresses.length === limit) break;
    addresses.push(ordinals.addressOf(ordinal));
  }
  const later = ordinals.later();
  for (const ordinal of ordinalsFrom(bits, ordinals.inOrder)) {
    const address = later[ordinal - ordinals.inOrder] ?? 0;
    if (address >= first) addresses.push(address);
  }
  return addresses.sort((one, other) => one - other).slice(0, limit);
}
