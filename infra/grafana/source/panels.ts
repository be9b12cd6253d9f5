import type { Builder, Dataquery } from "@grafana/grafana-foundation-sdk/cog";
import { type DataSourceRef, GraphDrawStyle, ReduceDataOptionsBuilder } from "@grafana/grafana-foundation-sdk/common";
import { DashboardLinkBuilder, DashboardLinkType } from "@grafana/grafana-foundation-sdk/dashboard";
import { PanelBuilder as Pie } from "@grafana/grafana-foundation-sdk/piechart";
import { DataqueryBuilder as PromQuery } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as Stat } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as Table } from "@grafana/grafana-foundation-sdk/table";
import { PanelBuilder as TimeSeries } from "@grafana/grafana-foundation-sdk/timeseries";
import { asTable, asTimeSeries, CLICKHOUSE } from "./clickhouse.ts";

/** What a panel is called, in how many of 24 columns, and what its numbers mean. */
export type Heading = { readonly title: string; readonly span: number; readonly description?: string };

/** As infra/grafana/provisioning/datasources names it. */
const PROMETHEUS: DataSourceRef = { type: "prometheus", uid: "noisefloor-prometheus" };

/** Rollups have a row an hour: shorter buckets would be gaps. */
const HOURLY = "1h";
const HEIGHT = 9;

type Common<P> = {
  title(text: string): P;
  description(text: string): P;
  span(columns: number): P;
  height(rows: number): P;
};

export function headed<P extends Common<P>>(panel: P, { title, span, description }: Heading, height = HEIGHT): P {
  const made = panel.title(title).span(span).height(height);
  return description === undefined ? made : made.description(description);
}

const fromClickHouse = <
  P extends Common<P> & { datasource(of: typeof CLICKHOUSE): P; withTarget(of: Builder<Dataquery>): P },
>(
  panel: P,
  heading: Heading,
  target: Builder<Dataquery>,
  height?: number,
) => headed(panel, heading, height).datasource(CLICKHOUSE).withTarget(target);

/** A table. `links` lead from the values of a column to a page. */
export function table(heading: Heading, sql: string, links: Readonly<Record<string, string>> = {}): Table {
  const panel = fromClickHouse(new Table(), heading, asTable(sql)).interval(HOURLY);
  for (const [column, url] of Object.entries(links)) {
    panel.overrideByName(column, [{ id: "links", value: [{ title: "Show", url, targetBlank: true }] }]);
  }
  return panel;
}

export function lines(heading: Heading, sql: string): TimeSeries {
  return fromClickHouse(new TimeSeries(), heading, asTimeSeries(sql)).interval(HOURLY).min(0).fillOpacity(10);
}

export function bars(heading: Heading, sql: string): TimeSeries {
  return lines(heading, sql).drawStyle(GraphDrawStyle.Bars).fillOpacity(60);
}

/** One number. */
export function stat(heading: Heading, sql: string): Stat {
  return fromClickHouse(new Stat(), heading, asTable(sql), 5).interval(HOURLY).unit("locale");
}

/** Lines of metrics; each expression has a name, which may hold labels. */
export function metrics(heading: Heading, expressions: Readonly<Record<string, string>>): TimeSeries {
  const panel = headed(new TimeSeries(), heading, HEIGHT).datasource(PROMETHEUS).min(0).fillOpacity(10);
  for (const [name, expression] of Object.entries(expressions)) {
    panel.withTarget(new PromQuery().expr(expression).legendFormat(name).range());
  }
  return panel;
}

/** A share for each row: a text and a number. */
export function pie(heading: Heading, sql: string): Pie {
  return fromClickHouse(new Pie(), heading, asTable(sql))
    .interval(HOURLY)
    .reduceOptions(new ReduceDataOptionsBuilder().values(true).calcs(["lastNotNull"]));
}

/** Leads from each of our dashboards to the others. */
export const otherDashboards = new DashboardLinkBuilder("Noisefloor")
  .type(DashboardLinkType.Dashboards)
  .tags(["noisefloor"])
  .asDropdown(true)
  .includeVars(true)
  .keepTime(true);
