import type { News, NewsValues } from "@noisefloor/clickhouse/watches/news.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import type { Candidates } from "../kinds/search-matches.ts";
import type { Position } from "./position.ts";

/** What one look read. */
export type Read = { readonly news: News; readonly values: NewsValues | undefined };

/**
 * What the last looks read. An insert reaches the tables of its views one after the other: what a look has read may match
 * only once all have it, so it is asked for again for a while. The position that is stored lies before all of that.
 */
export class RecentNews {
  #reads: { readonly at: number; readonly read: Read; readonly before: Position }[] = [];

  /** @param before the position at which the look began to read. */
  add(read: Read, before: Position): void {
    this.#reads.push({ at: performance.now(), read, before });
  }

  /** Forgets what was read before a time, in milliseconds of `performance.now()`: every table has it by now. */
  forget(before: number): void {
    this.#reads = this.#reads.filter(({ at }) => at >= before);
  }

  clear(): void {
    this.#reads = [];
  }

  /** The position before all of it. */
  get start(): Position | undefined {
    return this.#reads.at(0)?.before;
  }

  news(): News[] {
    return this.#reads.map(({ read }) => read.news);
  }

  values(): NewsValues[] {
    return this.#reads.flatMap(({ read }) => read.values ?? []);
  }

  /** The addresses of the global dataset, and their numbers ascending. */
  candidates(): { readonly candidates: Candidates; readonly among: Uint32Array } {
    const candidates = new Map<number, { observed: number; received: number }>();
    const global = `${GLOBAL_SCOPE.dataset} `;
    for (const { read } of this.#reads) {
      const { scopes, addresses, observed, received } = read.news;
      for (const [index, address] of addresses.entries()) {
        if (scopes[index] !== global) continue;
        const [seen, came] = [observed[index] ?? 0, received[index] ?? 0];
        const known = candidates.get(address);
        if (known === undefined) candidates.set(address, { observed: seen, received: came });
        else {
          known.observed = Math.max(known.observed, seen);
          known.received = Math.max(known.received, came);
        }
      }
    }
    return { candidates, among: Uint32Array.from(candidates.keys()).sort() };
  }
}
