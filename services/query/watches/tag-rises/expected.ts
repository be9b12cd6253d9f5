import { HOUR_MS } from "@noisefloor/domain/time/window.ts";

/** Consecutive hours of a tag, the oldest first; NaN stands for an hour in which no sensor was heard. */
export type TagPast = {
  /** The beginning of the first hour, in milliseconds since 1970 UTC. */
  readonly from: number;
  /** The distinct addresses with the tag. */
  readonly counts: Float64Array;
  /** Those without it. */
  readonly others: Float64Array;
};

export type Expected = {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** The hours of the past that the median is of. Times in milliseconds since 1970 UTC. */
  readonly madeFrom: readonly { readonly hour: number; readonly count: number }[];
};

/**
 * What is usual for an hour soon after the past.
 * @param others addresses without the tag in this hour: where they are more than usual, sensors have been added.
 */
export type Expect = (hour: number, others: number) => Expected;

const DAY = 24;
const WEEK = 7 * DAY;
/** In a shorter past, days of a week are not told apart. */
const MIN_WEEKS = 4;
/** A count is as high by chance alone less than once in years, whatever is usual. */
const MIN_DEVIATIONS = 4;
/** What rises more often than once in so many days is usual. */
const DAYS_PER_BURST = 28;
/** By how much a rise must exceed usual bursts. */
const BEYOND_BURSTS = 1.25;
/** A smaller rise is worth no alarm, however steady the counts are. */
const MIN_RISE = 1.25;
/** How long a new level takes to be usual, twice. */
const LEVEL_HOURS = 3 * DAY;
/** Of a normal distribution: its deviation by the median absolute one, and by the distance of the two quantiles. */
const BY_MEDIAN = 1.4826;
const [UPPER, LOWER] = [1 / 4, 1 / 10];
const BY_QUANTILES = 1 / 0.607;

/** Anscombe's transform: a count that is due to chance deviates by about 1, however large its mean is. */
const stabilize = (count: number) => 2 * Math.sqrt(count + 3 / 8);
const toCount = (stable: number) => Math.max(0, Math.max(0, stable / 2) ** 2 - 3 / 8);

/**
 * Learns from up to eight weeks of a tag. Medians and low quantiles keep campaigns of the past out of what is usual:
 * how far the hours of a day lie apart, how far quiet days do, and the bursts that do not last for half a day.
 */
export function learnUsual({ from, counts, others }: TagPast): Expect {
  const period = counts.length < MIN_WEEKS * WEEK ? DAY : WEEK;
  const inPeriod = (index: number) => ((index % period) + period) % period;
  /** The hours of the past at the same place in the period, and those before and after each. */
  const alike = (index: number): number[] => {
    const hours: number[] = [];
    for (let before = inPeriod(index - 1) - period; before < counts.length; before += period) {
      for (let hour = before; hour < before + 3; hour++) {
        if (!Number.isNaN(counts[hour] ?? Number.NaN)) hours.push(hour);
      }
    }
    return hours;
  };
  const countAt = (index: number) => counts[index] ?? Number.NaN;
  const medians = Float64Array.from({ length: period }, (_, hour) => median(alike(hour).map(countAt)));
  const usualAt = (index: number) => medians[inPeriod(index)] ?? 0;

  const range = rangeOf(counts.map((count, index) => stabilize(count) - stabilize(usualAt(index))));
  const lately = Math.max(0, counts.length - LEVEL_HOURS);
  const ownLevel = median(counts.subarray(lately).map((count, index) => (count + 1) / (usualAt(lately + index) + 1)));

  return (hour, othersNow) => {
    const index = Math.round((hour - from) / HOUR_MS);
    const hours = alike(index);
    const level = (othersNow + 1) / (median(hours.map((past) => others[past] ?? Number.NaN)) + 1);
    const usual = usualAt(index) * Math.max(level || 0, ownLevel || 0);
    return {
      median: usual,
      low: toCount(stabilize(usual) - range),
      high: Math.max(MIN_RISE * usual, toCount(stabilize(usual) + range)),
      madeFrom: hours.map((past) => ({ hour: from + past * HOUR_MS, count: countAt(past) })),
    };
  };
}

/** How far an hour may be from what is usual. @param above how far each hour of the past was, on the stable scale. */
function rangeOf(above: Float64Array): number {
  const whole = above.subarray(above.length % DAY);
  const days = Array.from({ length: whole.length / DAY }, (_, day) => whole.subarray(day * DAY, (day + 1) * DAY));
  const daily = days.map(median);
  const apart = median(days.flatMap((hours, day) => [...hours].map((hour) => Math.abs(hour - (daily[day] ?? 0)))));
  const quiet = quantile(daily, UPPER) - quantile(daily, LOWER);
  const deviation = Math.hypot(BY_MEDIAN * apart, BY_QUANTILES * quiet);
  // Hours of a campaign are like those of the same day, or of the days before and after.
  const bursts = days.map((hours, day) => {
    const around = daily.slice(Math.max(0, day - 1), day + 2).filter((value) => !Number.isNaN(value));
    return Math.max(0, ...hours.filter((hour) => !Number.isNaN(hour))) - Math.max(0, ...around);
  });
  const burst = bursts.sort((one, other) => other - one)[Math.floor(days.length / DAYS_PER_BURST)] ?? 0;
  return Math.max(MIN_DEVIATIONS * Math.max(1, deviation || 0), BEYOND_BURSTS * burst);
}

/** @returns NaN when nothing is known. */
export function median(values: Float64Array | readonly number[]): number {
  const sorted = sortKnown(values);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = sortKnown(values);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

const sortKnown = (values: Float64Array | readonly number[]) =>
  Float64Array.from(values)
    .filter((value) => !Number.isNaN(value))
    .sort();
