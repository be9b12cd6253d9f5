import { readdir, readFile } from "node:fs/promises";
import { z } from "zod";

const FOLDER = new URL("../../../infra/grafana/dashboards/", import.meta.url);

const targetSchema = z.object({ rawSql: z.string().optional(), expr: z.string().optional() });
const panelSchema = z.object({
  type: z.string(),
  title: z.string(),
  interval: z.string().optional(),
  datasource: z.object({ type: z.string(), uid: z.string() }),
  targets: z.array(targetSchema).min(1),
});
const dashboardSchema = z.object({
  uid: z.string(),
  panels: z.array(panelSchema).min(1),
  templating: z.object({
    list: z.array(z.object({ name: z.string(), type: z.string(), query: z.string().optional() })).default([]),
  }),
});

/** A dashboard as its file has it. */
export type StoredDashboard = z.output<typeof dashboardSchema> & { readonly name: string; readonly text: string };

/** The dashboards' files. */
export async function readDashboards(): Promise<StoredDashboard[]> {
  const files = (await readdir(FOLDER)).sort();
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(new URL(file, FOLDER), "utf8");
      return { ...dashboardSchema.parse(JSON.parse(text)), name: file.replace(/\.json$/, ""), text };
    }),
  );
}

/** The SQL of a panel. @throws Error when the dashboard has no such panel. */
export function sqlOf(dashboards: readonly StoredDashboard[], name: string, title: string): string {
  const panel = dashboards.find((one) => one.name === name)?.panels.find((one) => one.title === title);
  const sql = panel?.targets[0]?.rawSql;
  if (sql === undefined) throw new Error(`the dashboard ${name} has no panel "${title}" with SQL`);
  return sql;
}
