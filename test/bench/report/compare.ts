import { isAgainstLimit, type Line } from "../line.ts";
import type { Report } from "./report.ts";

/** A line of a run beside the same line of an earlier one. */
export type Compared = {
  readonly line: Line;
  readonly before: Line;
  /** As a multiple of the earlier ratio. */
  readonly change: number;
  readonly isWorse: boolean;
};

/** A ratio that fell to this share is worse, if no round reached the earlier one. */
const WORSE = 0.75;

/** The lines against peers that both runs have. Ratios to these alone are compared: the machines may differ. */
export function compareReports(now: Report, before: Report): Compared[] {
  const earlier = new Map(linesOf(before).map((line) => [keyOf(line), line]));
  return linesOf(now).flatMap((line) => {
    const other = earlier.get(keyOf(line));
    if (other === undefined) return [];
    const change = line.ratio.median / other.ratio.median;
    return [{ line, before: other, change, isWorse: change < WORSE && line.ratio.max < other.ratio.median }];
  });
}

function linesOf({ parts }: Report): Line[] {
  return parts.flatMap(({ lines }) => lines).filter((line) => !isAgainstLimit(line));
}

function keyOf({ name, peer }: Line): string {
  return `${name} | ${peer}`;
}
