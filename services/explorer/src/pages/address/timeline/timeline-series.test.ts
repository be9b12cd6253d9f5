import { expect, test } from "vitest";
import { toSeries } from "./timeline-series.ts";

const metadata = {
  ip: "45.0.0.1",
  field: "destination_port",
  first_seen: "2026-11-01",
  start: "2026-11-19T22:30:00Z",
  end: "2026-11-20T02:30:00Z",
  granularity: "1h",
  metric: "count",
} as const;
const row = (label: string, timestamp: string, data: number) => ({ label, timestamp, data });

test("a timeline becomes series without gaps, the largest first, the small ones together", () => {
  const small = Array.from({ length: 8 }, (_, n) => row(`port ${n}`, "2026-11-20T01:00:00Z", 1));
  const { starts, end, series } = toSeries(
    {
      metadata,
      results: [...small, row("22", "2026-11-20T02:00:00Z", 5), row("22", "2026-11-19T22:00:00Z", 7)],
    },
    1,
    new Map([["22", "Secure shell"]]),
  );
  expect(starts.map((start) => new Date(start * 1_000).toISOString().slice(11, 16))).toEqual([
    "22:30",
    "23:00",
    "00:00",
    "01:00",
    "02:00",
  ]);
  expect(end).toBe(Date.parse("2026-11-20T02:30:00Z") / 1_000);
  expect(series.map(({ label }) => label)).toEqual([
    "Secure shell",
    "port 0",
    "port 1",
    "port 2",
    "port 3",
    "port 4",
    "all others",
  ]);
  expect(series[0]?.values).toEqual([7, 0, 0, 0, 5]);
  expect(series.at(-1)?.values).toEqual([0, 0, 0, 3, 0]);
});

test("a window that ends with a bucket has no empty one after it", () => {
  const whole = { ...metadata, start: "2026-11-19T22:00:00Z", end: "2026-11-20T02:00:00Z" };
  const { starts, end } = toSeries({ metadata: whole, results: [] }, 2, new Map());
  expect([...starts, end].map((edge) => new Date(edge * 1_000).toISOString().slice(11, 16))).toEqual([
    "22:00",
    "00:00",
    "02:00",
  ]);
});
