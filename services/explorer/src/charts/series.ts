import type { ColorName } from "./colors.ts";

/** What a chart over time draws in one color. */
export type Series = {
  readonly label: string;
  /** One value a bucket. */
  readonly values: readonly number[];
  readonly color: ColorName;
};
