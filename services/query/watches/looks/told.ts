import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { readKnownAddresses, readKnownHashes } from "@noisefloor/clickhouse/watches/known.ts";
import { readTold, type Told } from "@noisefloor/clickhouse/watches/log.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";

/** What watches have told of, made of the log alone: so a restart tells nothing twice, and nothing less. */
export class ToldSubjects {
  /** By watch: when it told of what, in seconds since 1970 UTC. */
  readonly #told = new Map<string, Map<number, number>>();
  /** By watch and condition: what was there before, ascending. */
  readonly #known = new Map<string, Uint32Array | readonly number[]>();

  /** Reads the log anew. */
  async load(client: ClickHouseClient, watches: readonly Watch[]): Promise<void> {
    this.#told.clear();
    const since = new Map(watches.map(({ id, sinceAt }) => [id, sinceAt]));
    for (const { watchId, lookedAt, ...told } of await readTold(client, 0)) {
      // What it told of by an earlier condition says nothing of this one.
      if (lookedAt >= (since.get(watchId) ?? Number.POSITIVE_INFINITY)) this.add(watchId, told);
    }
  }

  add(watchId: string, { subjects, times }: Told): void {
    const ofWatch = this.#told.get(watchId) ?? new Map<number, number>();
    this.#told.set(watchId, ofWatch);
    for (const [index, subject] of subjects.entries()) {
      ofWatch.set(subject, Math.max(times[index] ?? 0, ofWatch.get(subject) ?? 0));
    }
  }

  /** Forgets watches that are gone, and what was told by conditions that have changed. */
  keep(before: readonly Watch[], now: readonly Watch[]): void {
    const since = new Map(now.map(({ id, sinceAt }) => [id, sinceAt]));
    for (const { id, sinceAt } of before) {
      if (since.get(id) === sinceAt) continue;
      this.#told.delete(id);
      this.#known.delete(id);
    }
  }

  /** Makes what was there before the watch known. @returns whether it is; a watch that needs none has none. */
  async loadKnown(client: ClickHouseClient, watch: Watch): Promise<boolean> {
    if (this.#known.has(watch.id)) return true;
    const isOfAddresses = watch.on.type === "search_matches";
    const subjects = await (isOfAddresses ? readKnownAddresses : readKnownHashes)(client, watch);
    if (subjects !== undefined) this.#known.set(watch.id, subjects);
    return subjects !== undefined;
  }

  /** Whether a watch need not tell of something that was at a time, in seconds since 1970 UTC. */
  isTold({ id, sinceAt, repeatAfterHours }: Watch, subject: number, at: number): boolean {
    const told = this.#told.get(id)?.get(subject) ?? (this.#isKnown(id, subject) ? sinceAt / 1_000 : undefined);
    if (told === undefined) return false;
    return repeatAfterHours === 0 || at < told + (repeatAfterHours * HOUR_MS) / 1_000;
  }

  #isKnown(watchId: string, subject: number): boolean {
    const known = this.#known.get(watchId);
    if (known === undefined) return false;
    let low = 0;
    let high = known.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((known[middle] ?? 0) < subject) low = middle + 1;
      else high = middle;
    }
    return known[low] === subject;
  }
}
