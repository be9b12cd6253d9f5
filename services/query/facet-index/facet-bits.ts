import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { LRUCache } from "lru-cache";
import { type FacetSet, keyOf } from "../conditions/address-set.ts";
import { type Bits, orInto } from "./bits.ts";
import type { Facet, Layer } from "./facet.ts";
import {
  type DueMembers,
  indexOf,
  markSince,
  markSinceWithDue,
  type Segment,
  type Slice,
  splitTime,
  startAt,
} from "./segment.ts";

/** A field of a scope, and the name of both. */
export type NamedFacet = { readonly name: string; readonly facet: Facet };

/** In milliseconds since the epoch of the index. */
export type Since = {
  readonly time: number;
  /** The first full hour that is not before the time. */
  readonly hour: number;
};

/**
 * The bits of a set since an hour, and the members of the hour before. So the bits since any time in that hour need no
 * other pass over all members.
 */
type KeptBits = {
  readonly bits: Bits;
  readonly due: DueMembers;
  /** By facet: the number of the last layer that is in the bits. To add a layer again changes nothing. */
  readonly upTo: ReadonlyMap<Facet, number>;
};

const MIN_KEPT = 2_000;
/** Members that are marked before others get their turn: a millisecond or two. */
const MEMBERS_PER_STEP = 500_000;
/** Bytes of a due member, and of what else is kept of a set. */
const DUE_BYTES = 16;
const OVERHEAD_BYTES = 512;

/** Keeps the bits of sets with many members, by use. */
export class FacetBits {
  readonly #kept: LRUCache<string, KeptBits>;

  readonly #minKept: number;

  /** @param minKept the bits of fewer members are set as fast as they are copied. */
  constructor(maxBytes: number, minKept = MIN_KEPT) {
    this.#minKept = minKept;
    const sizeCalculation = ({ bits, due }: KeptBits, key: string) =>
      bits.byteLength + due.times.length * DUE_BYTES + key.length + OVERHEAD_BYTES;
    this.#kept = new LRUCache({ maxSize: maxBytes, sizeCalculation });
  }

  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /**
   * Sets the bits of the addresses that were seen with a set's values. Addresses with ordinals beyond the bits are left
   * out: they came later.
   * @param ordinals how many there are now. @param facets the set's field in the scopes that are searched.
   */
  *mark(
    set: FacetSet,
    facets: readonly NamedFacet[],
    since: Since,
    { into, ordinals }: { readonly into: Bits; readonly ordinals: () => number },
  ): Generator<void, void> {
    const { after: _, ...timeless } = set;
    const key = `${since.hour} ${facets.map(({ name }) => name)} ${keyOf(timeless)}`;
    let kept = this.#kept.get(key);
    if (kept === undefined || facets.some(({ facet }) => facet.latest !== kept?.upTo.get(facet))) {
      // Before values are matched: a layer that comes meanwhile may have values that are not among them.
      const upTo = new Map(facets.map(({ facet }) => [facet, facet.latest]));
      const matched = new Map<Facet, readonly number[]>();
      for (const { facet } of facets) matched.set(facet, yield* facet.matching(set));
      const layers = [...matched].flatMap(([facet, values]) => slicesOf(facet.layers, values, -1));
      if (kept === undefined && layers.reduce((sum, { start, end }) => sum + end - start, 0) < this.#minKept) {
        const start = splitTime(since.time);
        for (const { segment, ...slice } of layers) markSince(segment, slice, start, into);
        return;
      }
      kept = yield* keep(matched, { kept, upTo }, since.hour, ordinals());
      this.#kept.set(key, kept);
    }
    orInto(into, kept.bits);
    const { due } = kept;
    for (const [index, time] of due.times.entries()) {
      if (time < since.time) continue;
      const ordinal = due.ordinals[index] ?? 0;
      into[ordinal >>> 5] = (into[ordinal >>> 5] ?? 0) | (1 << ordinal);
    }
  }
}

/** The bits of values since an hour, with all layers up to `upTo`. @param kept the bits with earlier layers, if any. */
function* keep(
  matched: ReadonlyMap<Facet, readonly number[]>,
  { kept, upTo }: { readonly kept: KeptBits | undefined; readonly upTo: KeptBits["upTo"] },
  hour: number,
  ordinals: number,
): Generator<void, KeptBits> {
  const bits = new Uint32Array(Math.ceil(ordinals / 32));
  if (kept !== undefined) bits.set(kept.bits);
  const due = { ordinals: [...(kept?.due.ordinals ?? [])], times: [...(kept?.due.times ?? [])] };
  const slices = [...matched].flatMap(([facet, values]) => slicesOf(facet.layers, values, kept?.upTo.get(facet) ?? -1));
  const times = { since: splitTime(hour), from: splitTime(hour - HOUR_MS) };
  let left = MEMBERS_PER_STEP;
  for (const { segment, ...slice } of slices) {
    markSinceWithDue(segment, slice, times, { bits, due });
    left -= slice.end - slice.start;
    if (left > 0) continue;
    left = MEMBERS_PER_STEP;
    yield;
  }
  return { bits, due, upTo };
}

/** The members of values in the layers after one. */
function slicesOf(
  layers: readonly Layer[],
  values: readonly number[],
  after: number,
): readonly (Slice & { readonly segment: Segment })[] {
  return layers.flatMap(({ segment, number }) => {
    if (number <= after) return [];
    return values.flatMap((value) => {
      const index = indexOf(segment, value);
      return index === -1 ? [] : { segment, start: startAt(segment, index), end: segment.ends[index] ?? 0 };
    });
  });
}
