import { expect, test } from "vitest";
import { DASHBOARDS, formatDashboard } from "../../infra/grafana/source/dashboards.ts";
import { readDashboards } from "../support/grafana/dashboards.ts";

const stored = await readDashboards();

test("each dashboard's file is what its source makes: npm run dashboards", () => {
  expect(stored.map(({ name }) => name)).toEqual(Object.keys(DASHBOARDS).sort());
  for (const { name, text } of stored) {
    const source = DASHBOARDS[name];
    expect(source && formatDashboard(source) === text, name).toBe(true);
  }
});

test("every panel on hourly rollups asks for no shorter intervals", () => {
  const panels = stored.flatMap(({ panels }) => panels).filter(({ targets }) => targets[0]?.rawSql !== undefined);
  expect(panels.length).toBeGreaterThan(0);
  for (const { title, interval } of panels) expect(interval, title).toBe("1h");
});
