import {
  CustomVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { CLICKHOUSE } from "./clickhouse.ts";

/** Where drill-downs lead. */
export const service = new TextBoxVariableBuilder("noisefloor")
  .label("Noisefloor")
  .description("The address of the query interface, for links")
  .defaultValue("http://127.0.0.1:8080")
  .current({ text: "http://127.0.0.1:8080", value: "http://127.0.0.1:8080" });

export const scope = new CustomVariableBuilder("scope")
  .label("Scope")
  .description("personal holds the workspaces that GRAFANA_WORKSPACES names")
  .values("global,community,personal")
  .multi(true)
  .current({ text: ["global"], value: ["global"] });

export const width = new CustomVariableBuilder("width")
  .label("Width")
  .description("Of the buckets, in UTC; weeks begin on Monday")
  .values("hour : 1 HOUR,6 hours : 6 HOUR,day : 1 DAY,week : 1 WEEK")
  .allowCustomValue(false)
  .current({ text: "hour", value: "1 HOUR" });

/** The first column is the value, the second the text. */
export const tag = new QueryVariableBuilder("tag")
  .label("Tag")
  .datasource(CLICKHOUSE)
  .query("SELECT toString(tag_id) AS id, tag FROM tag_catalogue ORDER BY tag LIMIT 5000")
  .refresh(VariableRefresh.OnDashboardLoad)
  .multi(true)
  .includeAll(true)
  .current({ text: ["All"], value: ["$__all"] });

export const ip = new TextBoxVariableBuilder("ip").label("Address").defaultValue("").current({ text: "", value: "" });
