import { isRefused } from "@noisefloor/clickhouse/client/errors.ts";

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

/**
 * Runs a query that sets itself a limit.
 * @param key what the size of its answer depends on.
 * @param run answers undefined where too much of the answer has come.
 * @returns undefined when it takes more than its limit, or did so lately.
 */
export async function withinLimit<Answer>(
  key: readonly unknown[],
  run: () => Promise<Answer | undefined>,
  refusals: Refusals,
): Promise<Answer | undefined> {
  const query = JSON.stringify(key);
  if (refusals.has(query)) return undefined;
  const answered = await run().catch((error: unknown): undefined => {
    if (!isRefused(error)) throw error;
    return undefined;
  });
  if (answered === undefined) refusals.add(query);
  return answered;
}
