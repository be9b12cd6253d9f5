import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { activity } from "./activity.ts";
import { address } from "./address.ts";
import { fleet } from "./fleet.ts";
import { noisefloor } from "./noisefloor.ts";

/** By the name of its file in infra/grafana/dashboards. */
export const DASHBOARDS: Readonly<Record<string, Builder<Dashboard>>> = {
  activity,
  address,
  fleet,
  noisefloor,
};

/** The text of a dashboard's file. */
export function formatDashboard(dashboard: Builder<Dashboard>): string {
  return `${JSON.stringify(dashboard.build(), null, 2)}\n`;
}
