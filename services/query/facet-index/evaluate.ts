import { isMemberField, type MemberField } from "@noisefloor/clickhouse/facets/facet-members.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import {
  type AddressSet,
  type FacetSet,
  isOfObservations,
  SEEN,
  type SetQuery,
  visitTree,
} from "../conditions/address-set.ts";
import { andInto, andNotInto, type Bits, orInto } from "./bits.ts";
import type { FacetBits, NamedFacet, Since } from "./facet-bits.ts";
import type { ListedAddresses } from "./listed-addresses.ts";
import type { Ordinals } from "./ordinals.ts";

/** The fields that an evaluation reads; undefined when some set is of none, so that only the store has it. */
export function fieldsOf(queries: readonly SetQuery[]): ReadonlySet<MemberField> | undefined {
  const fields = new Set<MemberField>();
  let isIndexed = true;
  const visit = visitTree<void>({
    constant: () => {},
    set(set) {
      if (set.type === "facet" && isMemberField(set.field)) fields.add(set.field);
      else if (isOfObservations(set)) isIndexed = false;
    },
    not: () => {},
    and: () => {},
    or: () => {},
  });
  for (const query of queries) visit(query);
  return isIndexed ? fields : undefined;
}

/** What sets are evaluated over. */
export type Evaluation = {
  readonly ordinals: Ordinals;
  readonly facetBits: FacetBits;
  /** A field in the scopes that are searched. */
  readonly facetsOf: (field: MemberField) => readonly NamedFacet[];
  readonly listed: ListedAddresses;
  /** Milliseconds since 1970 UTC: what was seen since then counts. */
  readonly from: number;
  /** The time from which the index counts its times, in milliseconds since 1970 UTC. */
  readonly epoch: number;
};

/** Some addresses, or with `isComplement` all others that were seen. Shared bits are not to be changed. */
type Operand = { readonly bits: Bits; readonly isComplement: boolean; readonly isShared: boolean };

/**
 * Evaluates searches over the same addresses, those that have an ordinal now. The sets are those that `setSource` finds
 * in the store.
 */
export function openEvaluator({ ordinals, facetBits, facetsOf, listed, from, epoch }: Evaluation) {
  const words = Math.ceil(ordinals.size / 32);
  const visited = new Map<SetQuery, Operand>();
  let left = WORDS_PER_STEP;
  let seenBits: Bits | undefined;

  function* pause(): Generator<void, void> {
    left -= words;
    if (left > 0) return;
    left = WORDS_PER_STEP;
    yield;
  }
  const sinceOf = (time: number): Since => {
    const hour = Math.ceil(time / HOUR_MS) * HOUR_MS;
    return { time: time - epoch, hour: hour - epoch };
  };
  function* facetSet(set: FacetSet): Generator<void, Bits> {
    if (!isMemberField(set.field)) throw new RangeError(`${set.field} is not in the index`);
    const into = new Uint32Array(words);
    const since = sinceOf(Math.max(from, set.after ?? from));
    yield* facetBits.mark(set, facetsOf(set.field), since, { into, ordinals: () => ordinals.size });
    return into;
  }
  function* seen(): Generator<void, Bits> {
    seenBits ??= yield* facetSet(SEEN);
    return seenBits;
  }
  function* setBits(set: AddressSet): Generator<void, Bits> {
    switch (set.type) {
      case "facet":
        return yield* facetSet(set);
      case "address": {
        const bits = rangeBits(ordinals, set, words);
        andInto(bits, yield* seen());
        return bits;
      }
      case "listed": {
        const bits = new Uint32Array(words);
        yield* listed.mark(set, ordinals, bits);
        andInto(bits, yield* seen());
        return bits;
      }
      default:
        throw new RangeError(`${set.type} is not in the index`);
    }
  }
  const shared = (bits: Bits): Operand => ({ bits, isComplement: false, isShared: true });
  function* evaluate(query: SetQuery): Generator<void, Operand> {
    const earlier = visited.get(query);
    if (earlier !== undefined) return earlier;
    const operand = yield* evaluateNew(query);
    if (query.type === "constant" || query.type === "not") return operand;
    // A query may have the same part hundreds of times.
    if (visited.size < MAX_VISITED) {
      visited.set(query, { ...operand, isShared: true });
      return { ...operand, isShared: true };
    }
    return operand;
  }
  function* evaluateNew(query: SetQuery): Generator<void, Operand> {
    switch (query.type) {
      case "constant":
        return query.value
          ? shared(yield* seen())
          : { bits: new Uint32Array(words), isComplement: false, isShared: false };
      case "set":
        return { bits: yield* setBits(query.set), isComplement: false, isShared: false };
      case "not": {
        const { isComplement, ...of } = yield* evaluate(query.of);
        return { ...of, isComplement: !isComplement };
      }
      case "and":
        return yield* joinAll(query.of);
      case "or":
        return yield* joinAny(query.of);
    }
  }
  const owned = ({ bits, isShared }: Operand) => (isShared ? bits.slice() : bits);
  function* joinAll(of: readonly SetQuery[]): Generator<void, Operand> {
    let common: Bits | undefined;
    let excluded: Bits | undefined;
    for (const part of of) {
      const operand = yield* evaluate(part);
      if (operand.isComplement) {
        if (excluded === undefined) excluded = owned(operand);
        else orInto(excluded, operand.bits);
      } else if (common === undefined) common = owned(operand);
      else andInto(common, operand.bits);
      yield* pause();
    }
    common ??= (yield* seen()).slice();
    if (excluded !== undefined) andNotInto(common, excluded);
    return { bits: common, isComplement: false, isShared: false };
  }
  function* joinAny(of: readonly SetQuery[]): Generator<void, Operand> {
    const union = new Uint32Array(words);
    for (const part of of) {
      orInto(union, yield* plain(yield* evaluate(part)));
      yield* pause();
    }
    return { bits: union, isComplement: false, isShared: false };
  }
  function* plain(operand: Operand): Generator<void, Bits> {
    if (!operand.isComplement) return operand.bits;
    const bits = (yield* seen()).slice();
    andNotInto(bits, operand.bits);
    return bits;
  }
  return {
    /** The addresses that match a search. */
    *matching(query: SetQuery): Generator<void, Bits> {
      return yield* plain(yield* evaluate(query));
    },
    /** Those of some addresses that were seen since a time, in milliseconds since 1970 UTC. */
    *seenSince(bits: Bits, time: number): Generator<void, Bits> {
      const found = yield* facetSet({ ...SEEN, after: time });
      andInto(found, bits);
      return found;
    },
  };
}

/** Words that are combined before others get their turn: a millisecond or two. */
const WORDS_PER_STEP = 500_000;
/** Parts of a query whose bits are kept until it is answered. */
const MAX_VISITED = 64;

function rangeBits(
  ordinals: Ordinals,
  { first, last }: { readonly first: number; readonly last: number },
  words: number,
): Bits {
  const bits = new Uint32Array(words);
  const set = (ordinal: number) => {
    bits[ordinal >>> 5] = (bits[ordinal >>> 5] ?? 0) | (1 << ordinal);
  };
  const end = last === 2 ** 32 - 1 ? ordinals.inOrder : ordinals.firstFrom(last + 1);
  for (let ordinal = ordinals.firstFrom(first); ordinal < end; ordinal++) set(ordinal);
  for (const [index, address] of ordinals.later().entries()) {
    if (address >= first && address <= last) set(ordinals.inOrder + index);
  }
  return bits;
}
