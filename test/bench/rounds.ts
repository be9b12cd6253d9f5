import type { Pace } from "./part.ts";

/** Sides that together take longer are measured without a first round that does not count. */
const MAX_WARMUP_MS = 3_000;

/**
 * Measures the sides in turn, ABAB, so that whatever else the machine does meets all of them. Several rounds of quick
 * sides follow one that does not count.
 */
export async function inTurn<Name extends string, Value>(
  sides: Readonly<Record<Name, () => Promise<Value>>>,
  pace: Pick<Pace, "rounds">,
): Promise<Record<Name, Value[]>>;
export async function inTurn<Value>(
  sides: Readonly<Record<string, () => Promise<Value>>>,
  { rounds }: Pick<Pace, "rounds">,
): Promise<Record<string, Value[]>> {
  const series = Object.entries(sides).map(([name, measure]) => ({ name, measure, values: [] as Value[] }));
  const measureAll = async () => {
    for (const { measure, values } of series) values.push(await measure());
  };
  const start = performance.now();
  await measureAll();
  // The first answers compile code and fill caches.
  const isWarmup = rounds > 1 && performance.now() - start < MAX_WARMUP_MS;
  for (let round = isWarmup ? 0 : 1; round < rounds; round++) await measureAll();
  return Object.fromEntries(series.map(({ name, values }) => [name, isWarmup ? values.slice(1) : values]));
}

/** The median time of a question that is asked for a while, at least once, in milliseconds. */
export async function timeOf(ask: () => Promise<unknown>, pace: Pick<Pace, "repeatMs">): Promise<number> {
  const times = await timesOf(ask, pace);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}

/** The times of a question that is asked for a while, at least once, in milliseconds, ascending. */
export async function timesOf(ask: () => Promise<unknown>, { repeatMs }: Pick<Pace, "repeatMs">): Promise<number[]> {
  const times: number[] = [];
  for (const begin = performance.now(); times.length === 0 || performance.now() - begin < repeatMs; ) {
    const start = performance.now();
    await ask();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}
