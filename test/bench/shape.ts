import type { HistoryOptions } from "./history.ts";

export const DAYS = 90;
const HOURS = DAYS * 24;
/** The shares of the measured store: one tag with 15,000 observations an hour, 69 with 90. */
const ORDINARY_SHARE = 0.29;
/** One ordinary tag of the smallest store. */
const ORDINARY_SHARE_OF_SMALLEST = 0.13;
const HEAVY_PER_HOUR = 15_000;
const MAX_PER_ORDINARY_HOUR = 90;
const HEAVY_ADDRESSES = { active: 200_000, later: 128_000 };
/** All of them are active in the whole history. */
const WORM_ADDRESSES = { active: 2_000_000, later: 0 };
const ORDINARY_ADDRESSES = { active: 12_000, later: 12_200 };
const STEADY_ADDRESSES = 1_000;
const ROWS_PER_INSERT = 1_000_000;

/** The addresses of the heavy tag come and go, or are as many as those of a worm: infected machines over months. */
export type HeavyTag = "changing" | "worm";

type Shape = Required<
  Pick<
    HistoryOptions,
    | "days"
    | "heavyPerHour"
    | "ordinaryPerHour"
    | "heavyAddresses"
    | "isHeavySkewed"
    | "ordinaryAddresses"
    | "steadyAddresses"
    | "hoursPerInsert"
  >
> & { readonly ordinaryTags: number };

/**
 * How a history of about `size` observations looks. A larger one has a heavier tag and more ordinary ones; an ordinary
 * tag is the same in all that have the same `smallest`, so that its answers should take the same time in each.
 */
export function shapeOf(size: number, smallest: number, heavyTag: HeavyTag): Shape {
  const perHour = size / HOURS;
  const perSmallestHour = smallest / HOURS;
  const ordinaryPerHour = clamp(perSmallestHour * ORDINARY_SHARE_OF_SMALLEST, 1, MAX_PER_ORDINARY_HOUR);
  const ordinaryTags = clamp((ORDINARY_SHARE * perHour) / ordinaryPerHour - 1, 1, 10_000);
  // The steady tag has as many an hour as an ordinary one.
  const heavyPerHour = clamp(perHour - (ordinaryTags + 1) * ordinaryPerHour, 1, size);
  const scaled = (addresses: { active: number; later: number }, share: number) => ({
    active: clamp(addresses.active * share, 10, size),
    later: clamp(addresses.later * share, addresses.later === 0 ? 0 : 10, size),
  });
  return {
    days: DAYS,
    ordinaryTags,
    heavyPerHour,
    ordinaryPerHour,
    heavyAddresses: scaled(heavyTag === "worm" ? WORM_ADDRESSES : HEAVY_ADDRESSES, heavyPerHour / HEAVY_PER_HOUR),
    isHeavySkewed: heavyTag === "worm",
    ordinaryAddresses: scaled(ORDINARY_ADDRESSES, ordinaryPerHour / MAX_PER_ORDINARY_HOUR),
    steadyAddresses: clamp((STEADY_ADDRESSES * ordinaryPerHour) / MAX_PER_ORDINARY_HOUR, 10, size),
    hoursPerInsert: clamp(ROWS_PER_INSERT / perHour, 24, HOURS),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, Math.round(value)));
}
