export type ValueCount = { readonly value: string; readonly count: number };

/** Finds the values with the highest counts, ties in the order of their bytes, as the store orders texts. */
export class TopCounts {
  readonly #limit: number;
  #highest: ValueCount[] = [];
  /** Lower counts are not among the highest. */
  #least = 1;
  #isFull = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @param isLater whether its bytes are after those of all values before: then it loses each tie. */
  add(count: number, read: () => string, isLater = false): void {
    if (count < this.#least || (isLater && this.#isFull && count === this.#least)) return;
    this.#highest.push({ value: read(), count });
    if (this.#highest.length >= 2 * this.#limit + SPARE) this.#cut();
  }

  counts(): readonly ValueCount[] {
    this.#cut();
    return this.#highest;
  }

  #cut(): void {
    this.#highest.sort((one, other) => other.count - one.count || byBytes(one.value, other.value));
    this.#highest = this.#highest.slice(0, this.#limit);
    this.#isFull = this.#highest.length === this.#limit;
    if (this.#isFull) this.#least = this.#highest.at(-1)?.count ?? 1;
  }
}

/** Between two cuts. */
const SPARE = 64;

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
