import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import { LRUCache } from "lru-cache";
import { type FacetSet, keyOf } from "../conditions/address-set.ts";
import type { Dictionary } from "./dictionary.ts";
import { valueMatcher } from "./match-value.ts";
import { bytesOf, hasMember, mergeSegments, type Segment } from "./segment.ts";

/** Members that came together. A higher number came later; a merged layer has the number of its last part. */
export type Layer = { readonly segment: Segment; readonly number: number };

/** Values whose numbers are looked for before others get their turn: a millisecond or two. */
const VALUES_PER_STEP = 4_000;
/** How many conditions' values are remembered. */
const MAX_MATCHES = 200;

/** The values of one field in one scope, and which addresses have them. Members are only ever added. */
export class Facet {
  readonly dictionary: Dictionary;
  #layers: readonly Layer[];
  #latest = 0;
  /** The values that sets match, and how many of the dictionary's were looked at. */
  readonly #matches = new LRUCache<string, { readonly values: number[]; upTo: number }>({ max: MAX_MATCHES });

  readonly #groupings = new Map<(value: string) => string, Grouping>();

  constructor(dictionary: Dictionary, loaded: Segment) {
    this.dictionary = dictionary;
    this.#layers = [{ segment: loaded, number: 0 }];
  }

  /** As loaded first, then what came later, the latest last. */
  get layers(): readonly Layer[] {
    return this.#layers;
  }

  /** The number of the last layer. */
  get latest(): number {
    return this.#latest;
  }

  get bytes(): number {
    return this.#layers.reduce((sum, { segment }) => sum + bytesOf(segment), this.dictionary.bytes());
  }

  get members(): number {
    return this.#layers.reduce((sum, { segment }) => sum + segment.ordinals.length, 0);
  }

  /** How many members came after it was loaded, as a share of the loaded ones. */
  get addedShare(): number {
    const [loaded = 0, ...added] = this.#layers.map(({ segment }) => segment.ordinals.length);
    return added.reduce((sum, count) => sum + count, 0) / Math.max(MIN_MEMBERS, loaded);
  }

  /** Whether a member was loaded with this time or a later one. It may miss those whose addresses were new then. */
  hasLoaded(value: number, ordinal: number, time: number): boolean {
    const [loaded] = this.#layers;
    return loaded !== undefined && hasMember(loaded.segment, value, ordinal, time);
  }

  add(segment: Segment): void {
    this.#layers = [...this.#layers, { segment, number: ++this.#latest }];
  }

  /** Makes one of layers of similar size, so that there are few. Only one call may be under way. */
  async mergeLayers(): Promise<void> {
    for (;;) {
      const [before, last] = this.#layers.slice(1).slice(-2);
      if (before === undefined || last === undefined) return;
      if (before.segment.ordinals.length > 2 * last.segment.ordinals.length) return;
      const segment = await runInSteps(mergeSegments(before.segment, last.segment));
      this.#layers = [...this.#layers.slice(0, -2), { segment, number: last.number }];
    }
  }

  /** The numbers of the values by a part of each. The same function is called once for each value. */
  *groupedBy(partOf: (value: string) => string): Generator<void, ReadonlyMap<string, readonly number[]>> {
    const grouping = this.#groupings.get(partOf) ?? { groups: new Map<string, number[]>(), upTo: 0 };
    this.#groupings.set(partOf, grouping);
    while (grouping.upTo < this.dictionary.size) {
      const part = partOf(this.dictionary.valueOf(grouping.upTo));
      const group = grouping.groups.get(part);
      if (group === undefined) grouping.groups.set(part, [grouping.upTo]);
      else group.push(grouping.upTo);
      if (++grouping.upTo % VALUES_PER_STEP === 0) yield;
    }
    return grouping.groups;
  }

  /** The numbers of the values that a set asks for, in no order. A generator, so that the caller can yield. */
  *matching(set: FacetSet): Generator<void, readonly number[]> {
    const { after: _, ...timeless } = set;
    const key = keyOf(timeless);
    const match = this.#matches.get(key) ?? { values: [], upTo: 0 };
    this.#matches.set(key, match);
    if (match.upTo === 0 && set.match.type === "in") {
      for (const text of new Set(set.match.texts)) {
        const number = this.dictionary.numberOf(text);
        if (number !== undefined) match.values.push(number);
      }
      match.upTo = this.dictionary.size;
    }
    const isMatch = valueMatcher(set);
    while (match.upTo < this.dictionary.size) {
      const end = Math.min(this.dictionary.size, match.upTo + VALUES_PER_STEP);
      for (; match.upTo < end; match.upTo++) {
        if (isMatch(this.dictionary.valueOf(match.upTo))) match.values.push(match.upTo);
      }
      if (match.upTo < this.dictionary.size) yield;
    }
    return match.values;
  }
}

/** Values that are grouped by a text, each number once. */
type Grouping = { readonly groups: Map<string, number[]>; upTo: number };

const MIN_MEMBERS = 100_000;
