import { writeFile } from "node:fs/promises";
import { DASHBOARDS, formatDashboard } from "./dashboards.ts";

for (const [name, dashboard] of Object.entries(DASHBOARDS)) {
  await writeFile(new URL(`../dashboards/${name}.json`, import.meta.url), formatDashboard(dashboard));
}
