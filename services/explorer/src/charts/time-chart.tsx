import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatCompact } from "../text/format.ts";
import { type ColorName, colorOf } from "./colors.ts";
import { stack } from "./stack.ts";
import { tooltip } from "./tooltip.ts";

export type Series = {
  readonly label: string;
  /** One value a bucket. */
  readonly values: readonly number[];
  readonly color: ColorName;
};

export type TimeChartProps = {
  /** What the chart shows, for those who do not see it. */
  readonly label: string;
  /** The starts of the buckets, and the end of the last one, in seconds since 1970 UTC. */
  readonly starts: readonly number[];
  readonly end: number;
  /** Stacked, the first at the bottom. */
  readonly series: readonly Series[];
  /** Called with the number of the bucket that was clicked. */
  readonly onPick?: (bucket: number) => void;
};

const HEIGHT = 220;

/** Bars over time. Dragging zooms, a double click shows everything again. */
export function TimeChart({ label, starts, end, series, onPick }: TimeChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  useEffect(() => {
    const target = element.current;
    if (target === null || starts.length === 0) return undefined;
    const stacked = stack(series);
    const data = [[...starts], ...stacked.map(({ heights }) => [...heights])];
    const drawn = stacked.map((one) => one.series);
    const options = toOptions({ starts, end, series, drawn, width: target.clientWidth });
    const chart = new uPlot(options, toData(data), target);
    const click = () => {
      const { idx, left = -1 } = chart.cursor;
      if (idx !== null && idx !== undefined && left >= 0 && chart.select.width === 0) pick.current?.(idx);
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
  }, [starts, end, series]);
  return <div ref={element} class={`chart${onPick === undefined ? "" : " pickable"}`} role="img" aria-label={label} />;
}

type Shown = Pick<TimeChartProps, "starts" | "end" | "series"> & {
  /** The series in the order in which they are drawn, which is that of the data. */
  readonly drawn: readonly Series[];
  readonly width: number;
};

function toOptions({ starts, end, series, drawn, width }: Shown): uPlot.Options {
  const last = starts.at(-1) ?? end;
  const axis: uPlot.Axis = {
    stroke: () => colorOf("text"),
    grid: { stroke: () => colorOf("line"), width: 1 },
    ticks: { stroke: () => colorOf("line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false } },
    scales: {
      // The last bar is as wide as the others.
      x: { time: true, range: (_chart, from, to) => [from, to === last ? end : to] },
      y: { range: (_chart, _from, to) => [0, Math.max(1, to * 1.05)] },
    },
    axes: [
      { ...axis, values: TIME_LABELS },
      { ...axis, size: 52, values: (_chart, values) => values.map(formatCompact), incrs: WHOLE_STEPS },
    ],
    series: [
      {},
      ...drawn.map(({ label, color }) => ({
        label,
        fill: () => colorOf(color),
        stroke: () => colorOf(color),
        width: 0,
        points: { show: false },
        paths: uPlot.paths.bars?.({ size: [0.92, 64], align: 1 }),
      })),
    ].map((one) => ({ ...one })),
    plugins: [tooltip({ starts, end, series })],
  };
}

const [HOUR, DAY] = [3_600, 86_400];
/** By the least step between two labels: the label, and what stands below it where the day or the year changes. */
const TIME_LABELS: (string | number | null)[][] = [
  [28 * DAY, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [DAY, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [HOUR, "{HH}:00", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];

const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** uPlot types its data as a tuple. */
function toData([xs = [], ...values]: readonly number[][]): uPlot.AlignedData {
  return [xs, ...values];
}
