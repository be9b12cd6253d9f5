const HALF_BITS = 16;
const HALF = 2 ** HALF_BITS;

/**
 * The places of numbers in the order of the upper or lower 16 bits of these, by one pass that counts and one that
 * moves.
 * @param order of places whose numbers have the same bits; ascending by default.
 */
export function placesByHalf(numbers: Uint32Array, half: "upper" | "lower", order?: Uint32Array): Uint32Array {
  const above = half === "upper" ? HALF_BITS : 0;
  const starts = new Uint32Array(HALF + 1);
  for (let place = 0; place < numbers.length; place++) {
    const after = (((numbers[place] ?? 0) >>> above) & (HALF - 1)) + 1;
    starts[after] = (starts[after] ?? 0) + 1;
  }
  for (let bits = 1; bits < starts.length; bits++) starts[bits] = (starts[bits] ?? 0) + (starts[bits - 1] ?? 0);
  const places = new Uint32Array(numbers.length);
  for (let index = 0; index < numbers.length; index++) {
    const place = order === undefined ? index : (order[index] ?? 0);
    const bits = ((numbers[place] ?? 0) >>> above) & (HALF - 1);
    const start = starts[bits] ?? 0;
    places[start] = place;
    starts[bits] = start + 1;
  }
  return places;
}

/** The numbers in these places. */
export function pick(numbers: Uint32Array, places: Uint32Array): Uint32Array {
  const picked = new Uint32Array(places.length);
  for (let index = 0; index < places.length; index++) picked[index] = numbers[places[index] ?? 0] ?? 0;
  return picked;
}
