import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parser } from "@prometheus-io/lezer-promql";
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

test("every expression for Prometheus is one, over metrics that the services have", async () => {
  const panels = stored.flatMap(({ panels: all }) => all).filter(({ datasource }) => datasource.type === "prometheus");
  expect(panels.length).toBeGreaterThan(0);
  const sources = (await Promise.all(["libs", "services"].map(readSources))).join("\n");
  for (const { expr = "" } of panels.flatMap(({ targets }) => targets)) {
    const tree = parser.parse(expr.replaceAll("$__rate_interval", "5m"));
    expect(tree.toString(), expr).not.toContain("⚠");
    for (const [name] of expr.matchAll(/noisefloor_\w+/g)) {
      const metric = name.replace(/_(?:bucket|count|sum)$/, "");
      expect(sources.includes(`"${metric}"`), metric).toBe(true);
    }
  }
});

async function readSources(folder: string): Promise<string> {
  const root = fileURLToPath(new URL(`../../${folder}/`, import.meta.url));
  const files = (await readdir(root, { recursive: true })).filter((file) =>
    /^(?!.*node_modules).*(?<!\.test)\.ts$/.test(file),
  );
  return (await Promise.all(files.map((file) => readFile(join(root, file), "utf8")))).join("\n");
}
