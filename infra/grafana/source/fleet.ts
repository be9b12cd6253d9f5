import { DashboardBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { bars, otherDashboards, stat, table } from "./panels.ts";
import { IN_RANGE } from "./sql.ts";

const REJECTED = "outcome NOT IN ('accepted', 'ignored')";
/** A sensor as people know it: records that name none, and the sensors beyond those that are counted by name. */
const SENSOR = "multiIf(is_rest, '(others)', sensor_id = '', '(none)', sensor_id)";

/** The sensors: how much each sends, and what is rejected of it. */
export const fleet = new DashboardBuilder("Noisefloor: fleet")
  .uid("noisefloor-fleet")
  .tags(["noisefloor"])
  .timezone("utc")
  .time({ from: "now-2d", to: "now" })
  .link(otherDashboards)
  .withPanel(
    stat(
      { title: "Sensors", span: 8, description: "That sent records in the range, by the names that they give" },
      `SELECT uniqExactIf(sensor_id, sensor_id != '') AS sensors FROM sensors_hourly WHERE ${IN_RANGE}`,
    ),
  )
  .withPanel(
    stat(
      { title: "Records accepted", span: 8 },
      `SELECT sum(records) AS accepted FROM sensors_hourly WHERE ${IN_RANGE} AND outcome = 'accepted'`,
    ),
  )
  .withPanel(
    stat(
      { title: "Records rejected", span: 8 },
      `SELECT sum(records) AS rejected FROM sensors_hourly WHERE ${IN_RANGE} AND ${REJECTED}`,
    ),
  )
  .withPanel(
    bars(
      { title: "Records accepted each hour", span: 24, description: "Of the twenty sensors that sent most" },
      `SELECT hour AS time, ${SENSOR} AS sensor, sum(records) AS accepted FROM sensors_hourly
WHERE ${IN_RANGE} AND outcome = 'accepted' AND sensor IN (
  SELECT ${SENSOR} AS busy FROM sensors_hourly WHERE ${IN_RANGE} AND outcome = 'accepted'
  GROUP BY busy ORDER BY sum(records) DESC, busy LIMIT 20
)
GROUP BY time, sensor ORDER BY time, sensor`,
    ),
  )
  .withPanel(
    bars(
      { title: "Records rejected each hour", span: 24, description: "By reason" },
      `SELECT hour AS time, toString(outcome) AS reason, sum(records) AS rejected FROM sensors_hourly
WHERE ${IN_RANGE} AND ${REJECTED}
GROUP BY time, reason ORDER BY time, reason`,
    ),
  )
  .withPanel(
    table(
      { title: "Sensors and what they sent", span: 16 },
      `SELECT ${SENSOR} AS sensor, source, key_id AS key, sumIf(records, outcome = 'accepted') AS accepted,
  sumIf(records, ${REJECTED}) AS rejected, max(last_at) AS last_record
FROM sensors_hourly WHERE ${IN_RANGE}
GROUP BY sensor, source, key ORDER BY rejected DESC, accepted DESC, sensor, source, key LIMIT 200`,
    ),
  )
  .withPanel(
    table(
      { title: "Dead letters", span: 8, description: "Received in the range, without those that a retry has stored" },
      `SELECT reason, count() AS records FROM dead_letters_received
WHERE $__timeFilter(received_at) AND NOT is_stored
GROUP BY reason ORDER BY records DESC, reason`,
    ),
  );
