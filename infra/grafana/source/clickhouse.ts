import type { Builder, Dataquery } from "@grafana/grafana-foundation-sdk/cog";
import type { DataSourceRef } from "@grafana/grafana-foundation-sdk/common";

/** As infra/grafana/provisioning/datasources names it. */
export const CLICKHOUSE: DataSourceRef = { type: "grafana-clickhouse-datasource", uid: "noisefloor" };

/** A query of Grafana's ClickHouse data source, for which the SDK has no builder. */
type ClickHouseQuery = Dataquery & {
  readonly refId: string;
  readonly datasource: DataSourceRef;
  readonly pluginVersion: string;
  readonly editorType: "sql";
  readonly queryType: "table" | "timeseries";
  /** The same again, as older versions of the data source read it: 0 a time series, 1 a table. */
  readonly format: 0 | 1;
  readonly rawSql: string;
};

function query(rawSql: string, queryType: "table" | "timeseries"): Builder<Dataquery> {
  const built: ClickHouseQuery = {
    refId: "A",
    datasource: CLICKHOUSE,
    pluginVersion: "4.20.0",
    editorType: "sql",
    queryType,
    format: queryType === "table" ? 1 : 0,
    rawSql: rawSql.trim(),
    _implementsDataqueryVariant: () => {},
  };
  return { build: () => built };
}

export const asTable = (sql: string) => query(sql, "table");

/** The columns are the time, then labels, then numbers. */
export const asTimeSeries = (sql: string) => query(sql, "timeseries");
