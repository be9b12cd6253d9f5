import type uPlot from "uplot";
import { formatCount, formatMinute } from "../text/format.ts";
import { visible } from "../text/hostile.tsx";
import type { Series } from "./time-chart.tsx";

type Shown = { readonly starts: readonly number[]; readonly end: number; readonly series: readonly Series[] };

/** Beside the pointer: the bucket, and what each series has in it. */
export function tooltip({ starts, end, series }: Shown): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = "tooltip";
  box.hidden = true;
  const show = (chart: uPlot) => {
    const { idx, left = -1, top = 0 } = chart.cursor;
    const start = typeof idx === "number" ? starts[idx] : undefined;
    box.hidden = start === undefined || left < 0;
    if (start === undefined || typeof idx !== "number") return;
    const lines = series
      .filter(({ values }) => series.length === 1 || (values[idx] ?? 0) > 0)
      .map(({ label, values }) => `${visible(label)}: ${formatCount(values[idx] ?? 0)}`);
    box.textContent = [`${toText(start)} to ${toText(starts[idx + 1] ?? end)}`, ...lines].join("\n");
    const isRight = left > chart.over.clientWidth / 2;
    box.style.left = `${isRight ? left - box.offsetWidth - 12 : left + 12}px`;
    box.style.top = `${Math.max(0, top - box.offsetHeight / 2)}px`;
  };
  return { hooks: { init: (chart) => void chart.over.append(box), setCursor: show } };
}

const toText = (seconds: number) => formatMinute(new Date(seconds * 1_000).toISOString());
