import { z } from "zod";

/** The smallest, the middle and the largest of some rounds. */
const spreadSchema = z.object({ min: z.number(), median: z.number(), max: z.number() });
export type Spread = Readonly<z.output<typeof spreadSchema>>;

/** One measurement of ours against a peer or a limit. */
export const lineSchema = z.object({
  name: z.string(),
  peer: z.string(),
  unit: z.enum(["per second", "ms", "bytes"]),
  ours: z.number(),
  theirs: z.number(),
  /** How many times better we are, round by round: above 1 we are faster than the peer, or better than the limit. */
  ratio: spreadSchema,
  /** The least median that we want. */
  target: z.number().optional(),
  /** By which power of the store's size the time grows: 0 is flat, 1 is in proportion. */
  exponent: z.number().optional(),
  /** What makes the measurement doubtful, such as answers that differ. */
  fault: z.string().optional(),
});
export type Line = Readonly<z.output<typeof lineSchema>>;

/** One side of a comparison, round by round. */
export type Series = readonly number[];

type Named = Pick<Line, "name" | "peer" | "unit" | "target" | "fault">;

/** Our rounds against a peer's. */
export function against(named: Named, ours: Series, theirs: Series): Line {
  const isMoreBetter = named.unit === "per second";
  const ratios = ours.map((our, round) => {
    const their = theirs[round] ?? Number.NaN;
    return isMoreBetter ? our / their : their / our;
  });
  return toLine(named, ours, theirs, ratios);
}

/** Requests a second of an empty route on the machine that the limits were set on. */
export const SPEED_OF_LIMITS = 64_000;

const LIMIT = "limit";

/** Whether a line's ratio is to a limit in milliseconds, and so depends on the machine's speed. */
export function isAgainstLimit({ peer }: Pick<Line, "peer">): boolean {
  return peer.startsWith(LIMIT);
}

/** Our rounds against what they must not exceed, in milliseconds. */
export function within(name: string, ours: Series, limitMs: number, fault?: string): Line {
  const ratios = ours.map((our) => limitMs / our);
  return toLine({ name, peer: `${LIMIT} ${limitMs} ms`, unit: "ms", target: 1, fault }, ours, [limitMs], ratios);
}

/** Times at several sizes of the store, one series a size, smallest first: the largest against the smallest. */
export function growth(name: string, sizes: readonly number[], times: readonly Series[], target?: number): Line {
  const [smallest = [], largest = []] = [times[0], times.at(-1)];
  const line = against({ name, peer: "the smallest store", unit: "ms", target }, largest, smallest);
  const medians = times.map((series) => spreadOf(series).median);
  return { ...line, exponent: round(slope(sizes.map(Math.log), medians.map(Math.log))) };
}

export function spreadOf(values: Series): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    min: at(0),
    median: (at(0.5) + (sorted[Math.ceil((sorted.length - 1) * 0.5)] ?? Number.NaN)) / 2,
    max: at(1),
  };
}

/** The slope of the straight line with the least squares. */
function slope(xs: readonly number[], ys: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(xs), mean(ys)];
  const products = xs.map((one, index) => (one - x) * ((ys[index] ?? Number.NaN) - y));
  return mean(products) / mean(xs.map((one) => (one - x) ** 2));
}

function toLine(named: Named, ours: Series, theirs: Series, ratios: Series): Line {
  const { min, median, max } = spreadOf(ratios);
  return {
    ...named,
    ours: round(spreadOf(ours).median),
    theirs: round(spreadOf(theirs).median),
    ratio: { min: round(min), median: round(median), max: round(max) },
  };
}

/** To three digits, and what is before the point. */
function round(value: number): number {
  return Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(3));
}
