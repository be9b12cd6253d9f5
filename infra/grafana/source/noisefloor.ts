import { DashboardBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { metrics, otherDashboards } from "./panels.ts";

const RATE = "[$__rate_interval]";

/** The service itself, as Prometheus sees it. */
export const noisefloor = new DashboardBuilder("Noisefloor itself")
  .uid("noisefloor-itself")
  .tags(["noisefloor"])
  .timezone("utc")
  .time({ from: "now-6h", to: "now" })
  .link(otherDashboards)
  .withPanel(
    metrics(
      { title: "Requests a second", span: 12 },
      { "{{operation}} {{status}}": `sum by (operation, status) (rate(noisefloor_http_requests_total${RATE}))` },
    ),
  )
  .withPanel(
    metrics(
      { title: "Duration of answers", span: 12, description: "99 % of the answers took at most so long" },
      {
        "{{operation}}": `histogram_quantile(0.99, sum by (le, operation) (rate(noisefloor_http_request_duration_seconds_bucket${RATE})))`,
      },
    ).unit("s"),
  )
  .withPanel(
    metrics(
      { title: "Records a second", span: 12, description: "By source and outcome" },
      { "{{source}} {{outcome}}": `sum by (source, outcome) (rate(noisefloor_ingest_records_total${RATE}))` },
    ),
  )
  .withPanel(
    metrics(
      { title: "Inserts a second", span: 12, description: "transient ones are retried" },
      { "{{outcome}}": `sum by (outcome) (rate(noisefloor_insert_duration_seconds_count${RATE}))` },
    ),
  )
  .withPanel(
    metrics(
      { title: "Messages that wait in the topic", span: 12, description: "Each intake reports the whole group's lag" },
      { "partition {{partition}}": "max by (partition) (noisefloor_kafka_consumer_lag)" },
    ),
  )
  .withPanel(
    metrics(
      { title: "Queries to ClickHouse a second", span: 12 },
      {
        "{{query}} {{outcome}}": `sum by (query, outcome) (rate(noisefloor_store_query_duration_seconds_count${RATE}))`,
      },
    ),
  )
  .withPanel(
    metrics(
      { title: "ClickHouse's disk", span: 12, description: "Below the limit nothing is stored" },
      { free: "min(noisefloor_store_disk_free_bytes)", limit: "max(noisefloor_store_disk_floor_bytes)" },
    ).unit("bytes"),
  )
  .withPanel(
    metrics(
      { title: "Sensors", span: 12 },
      { "that send": "max(noisefloor_sensors)", silent: "max(noisefloor_sensors_silent)" },
    ),
  );
