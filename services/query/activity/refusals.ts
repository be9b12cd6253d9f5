const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED = 1_000;

/** Remembers for a while which queries the store has refused, and would refuse again. */
export type Refusals = { has(query: string): boolean; add(query: string): void };

/** @param now in milliseconds. */
export function createRefusals(now: () => number): Refusals {
  const refusedAt = new Map<string, number>();
  return {
    has: (query) => now() - (refusedAt.get(query) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS,
    add(query) {
      const [oldest] = refusedAt.keys();
      if (refusedAt.size >= MAX_REMEMBERED && oldest !== undefined) refusedAt.delete(oldest);
      // The newest is the last.
      refusedAt.delete(query);
      refusedAt.set(query, now());
    },
  };
}
