import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";

const HALF_BITS = 16;
const HALF = 2 ** HALF_BITS;

/** The indexes of numbers in ascending order of these; of those that are the same, as they come. */
export async function argsort(numbers: Uint32Array): Promise<Uint32Array> {
  await ownTurn();
  const byLower = sortByHalf(
    numbers,
    0,
    new Uint32Array(numbers.length).map((_, index) => index),
  );
  await ownTurn();
  const sorted = sortByHalf(numbers, HALF_BITS, byLower);
  await ownTurn();
  return sorted;
}

/** Sorts indexes by half of the bits of their numbers, from a bit on: one pass counts, and one moves. Stable. */
function sortByHalf(numbers: Uint32Array, lowestBit: number, order: Uint32Array): Uint32Array {
  const starts = new Uint32Array(HALF + 1);
  for (let index = 0; index < numbers.length; index++) {
    const next = (((numbers[index] ?? 0) >>> lowestBit) & (HALF - 1)) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let half = 1; half < starts.length; half++) starts[half] = (starts[half] ?? 0) + (starts[half - 1] ?? 0);
  const sorted = new Uint32Array(numbers.length);
  for (let rank = 0; rank < order.length; rank++) {
    const index = order[rank] ?? 0;
    const half = ((numbers[index] ?? 0) >>> lowestBit) & (HALF - 1);
    const start = starts[half] ?? 0;
    sorted[start] = index;
    starts[half] = start + 1;
  }
  return sorted;
}
