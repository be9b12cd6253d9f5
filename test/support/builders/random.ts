/** Seeded random numbers, so that a failing run can be repeated from its seed. */
export type Random = {
  /** An integer from `least` to `most`, both inclusive. */
  int(least: number, most: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
};

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    // xorshift32 over a Weyl sequence: simple, and good enough to choose test data with.
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
  };
  const int = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    int,
    chance: (probability) => next() < probability,
    pick: (from) => {
      const item = from[int(0, from.length - 1)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
    shuffle: (items) => {
      const shuffled = [...items];
      for (let at = shuffled.length - 1; at > 0; at--) {
        const other = int(0, at);
        const [one, two] = [shuffled[at], shuffled[other]];
        if (one !== undefined && two !== undefined) [shuffled[at], shuffled[other]] = [two, one];
      }
      return shuffled;
    },
  };
}
