/** Numbers the values of a field: the first ones in the order of their bytes, later ones as they come. */
export class Dictionary {
  /** The sorted values one after the other in UTF-8: an object for each would take four times the memory. */
  readonly #bytes: Buffer;
  readonly #ends: Uint32Array;
  readonly #later: string[] = [];
  readonly #numbers = new Map<string, number>();
  #laterBytes = 0;

  /** @param ends where each value ends in `bytes`; they ascend as their bytes do. */
  constructor(bytes: Buffer, ends: Uint32Array) {
    this.#bytes = bytes;
    this.#ends = ends;
  }

  get size(): number {
    return this.#ends.length + this.#later.length;
  }

  valueOf(number: number): string {
    if (number >= this.#ends.length) return this.#later[number - this.#ends.length] ?? "";
    return this.#bytes.toString("utf8", this.#startOf(number), this.#ends[number]);
  }

  /** Undefined for a value that is not here. */
  numberOf(value: string): number | undefined {
    const bytes = Buffer.from(value);
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = bytes.compare(this.#bytes, this.#startOf(middle), this.#ends[middle]);
      if (order === 0) return middle;
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return this.#numbers.get(value);
  }

  /** The number of a value, which is added where it is new. */
  add(value: string): number {
    const number = this.numberOf(value);
    if (number !== undefined) return number;
    this.#later.push(value);
    this.#numbers.set(value, this.size - 1);
    this.#laterBytes += value.length;
    return this.size - 1;
  }

  bytes(): number {
    return this.#bytes.byteLength + this.#ends.byteLength + this.#laterBytes + this.#later.length * LATER_OVERHEAD;
  }

  #startOf(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] ?? 0);
  }
}

/** About what V8 takes for a short text in an array and in a map. */
const LATER_OVERHEAD = 80;
