import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatCompact } from "../text/format.ts";
import { bucketAt, bucketBars } from "./bucket-bars.ts";
import { colorOf } from "./colors.ts";
import type { Series } from "./series.ts";
import { stack } from "./stack.ts";
import { formatTimes, TIME_STEPS } from "./time-axis.ts";
import { tooltip } from "./tooltip.ts";

export type TimeChartProps = {
  /** What the chart shows, for those who do not see it. */
  readonly label: string;
  /** The starts of the buckets, and the end of the last one, in seconds since 1970 UTC. */
  readonly starts: readonly number[];
  readonly end: number;
  readonly series: readonly Series[];
  /** Bars on top of each other, the first at the bottom; otherwise lines, whose values can be compared. */
  readonly isStacked?: boolean;
  /** Called with the number of the bucket that was clicked. */
  readonly onPick?: (bucket: number) => void;
};

const HEIGHT = 220;

/** Bars over time. Dragging zooms, a double click shows everything again. */
export function TimeChart({ label, starts, end, series, isStacked = true, onPick }: TimeChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  useEffect(() => {
    const target = element.current;
    if (target === null || starts.length === 0) return undefined;
    const stacked = isStacked ? stack(series) : series.map((one) => ({ series: one, heights: one.values }));
    const edges = [...starts, end];
    // The end of the last bucket has no value of its own: with it, the chart is as wide as its buckets.
    const data = [edges, ...stacked.map(({ heights }) => [...heights, isStacked ? 0 : (heights.at(-1) ?? 0)])];
    const drawn = stacked.map((one) => one.series);
    const options = toOptions({ edges, series, drawn, isStacked, width: target.clientWidth });
    const chart = new uPlot(options, toData(data), target);
    const click = () => {
      const { left = -1 } = chart.cursor;
      const bucket = left < 0 ? undefined : bucketAt(edges, chart.posToVal(left, "x"));
      if (bucket !== undefined && chart.select.width === 0) pick.current?.(bucket);
    };
    chart.over.addEventListener("click", click);
    const resized = new ResizeObserver(() => chart.setSize({ width: target.clientWidth, height: HEIGHT }));
    resized.observe(target);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => chart.redraw(false, true);
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      resized.disconnect();
      chart.destroy();
    };
  }, [starts, end, series, isStacked]);
  return <div ref={element} class={`chart${onPick === undefined ? "" : " pickable"}`} role="img" aria-label={label} />;
}

type Shown = Pick<TimeChartProps, "series"> & {
  readonly isStacked: boolean;
  /** The starts of the buckets, and the end of the last one. */
  readonly edges: readonly number[];
  /** The series in the order in which they are drawn, which is that of the data. */
  readonly drawn: readonly Series[];
  readonly width: number;
};

function toOptions({ edges, series, drawn, isStacked, width }: Shown): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: () => colorOf("text"),
    grid: { stroke: () => colorOf("line"), width: 1 },
    ticks: { stroke: () => colorOf("line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false } },
    scales: {
      // Not uPlot's own times: they are those of the browser's zone, shifted, and wrong where its clocks change.
      x: { time: false },
      y: { range: (_chart, _from, to) => [0, Math.max(1, to * 1.05)] },
    },
    axes: [
      {
        ...axis,
        space: 64,
        incrs: TIME_STEPS,
        values: (_chart, times, _axis, _space, step) => formatTimes(times, step),
      },
      { ...axis, size: 52, values: (_chart, values) => values.map(formatCompact), incrs: WHOLE_STEPS },
    ],
    series: [
      {},
      ...drawn.map(({ label, color }) => ({
        label,
        stroke: () => colorOf(color),
        points: { show: false },
        ...(isStacked
          ? { fill: () => colorOf(color), width: 0, paths: bucketBars(edges) }
          : { width: LINE_WIDTH, paths: bucketSteps }),
      })),
    ].map((one) => ({ ...one })),
    plugins: [tooltip({ edges, series, isStacked })],
  };
}

const LINE_WIDTH = 2;
/** Level from the start of a bucket to its end. */
const bucketSteps = uPlot.paths.stepped?.({ align: 1 });

const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** uPlot types its data as a tuple. */
function toData([xs = [], ...values]: readonly number[][]): uPlot.AlignedData {
  return [xs, ...values];
}
