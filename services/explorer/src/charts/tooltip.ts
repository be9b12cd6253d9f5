import type uPlot from "uplot";
import { formatCount, formatMinute } from "../text/format.ts";
import { visible } from "../text/hostile.tsx";
import { bucketAt } from "./bucket-bars.ts";
import type { Series } from "./series.ts";

type Shown = {
  /** The starts of the buckets, and the end of the last one, in seconds since 1970 UTC. */
  readonly edges: readonly number[];
  readonly series: readonly Series[];
  readonly isStacked: boolean;
};

/** Beside the pointer: the bucket, and what each series has in it; of a stack, which has many, those that have any. */
export function tooltip({ edges, series, isStacked }: Shown): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = "tooltip";
  box.hidden = true;
  const show = (chart: uPlot) => {
    const { left = -1, top = 0 } = chart.cursor;
    const bucket = left < 0 ? undefined : bucketAt(edges, chart.posToVal(left, "x"));
    box.hidden = bucket === undefined;
    if (bucket === undefined) return;
    const [start = 0, end = 0] = edges.slice(bucket);
    const isUnderWay = end * 1_000 > Date.now();
    const lines = series
      .filter(({ values }) => !isStacked || series.length === 1 || (values[bucket] ?? 0) > 0)
      .map(({ label, values }) => `${visible(label)}: ${formatCount(values[bucket] ?? 0)}`);
    box.textContent = [`${toText(start)} to ${toText(end)} UTC${isUnderWay ? ", so far" : ""}`, ...lines].join("\n");
    const isRight = left > chart.over.clientWidth / 2;
    box.style.left = `${isRight ? left - box.offsetWidth - 12 : left + 12}px`;
    box.style.top = `${Math.max(0, top - box.offsetHeight / 2)}px`;
  };
  return { hooks: { init: (chart) => void chart.over.append(box), setCursor: show } };
}

const toText = (seconds: number) => formatMinute(new Date(seconds * 1_000).toISOString());
