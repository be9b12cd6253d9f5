import { DashboardBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { bars, otherDashboards, table } from "./panels.ts";
import { bucketOf, IN_SCOPES } from "./sql.ts";
import { ip, scope, service, width } from "./variables.ts";

const THIS_ADDRESS = "source_ip = toIPv4OrDefault(${ip:singlequote})";
const OBSERVATIONS = `observations_seen
WHERE ${THIS_ADDRESS} AND ${IN_SCOPES} AND $__timeFilter(observed_at)`;

/** All about one address. */
export const address = new DashboardBuilder("Noisefloor: an address")
  .uid("noisefloor-address")
  .tags(["noisefloor"])
  .timezone("utc")
  .time({ from: "now-30d", to: "now" })
  .link(otherDashboards)
  .variables([ip, scope, width, service])
  .withPanel(
    table(
      { title: "Address", span: 12, description: "Within the retention, whatever the range" },
      `SELECT toString(source_ip) AS address, dataset, classification, last_seen FROM addresses_seen
WHERE ${THIS_ADDRESS} AND ${IN_SCOPES} ORDER BY dataset, workspace_id`,
      { address: "${noisefloor}/ip/${__value.raw}" },
    ),
  )
  .withPanel(
    table(
      { title: "Tags", span: 12, description: "Within the retention, whatever the range" },
      `SELECT tag, any(name) AS called, any(intention) AS meant, max(last_seen) AS seen FROM address_tags_seen
WHERE ${THIS_ADDRESS} AND ${IN_SCOPES} AND tag != '' GROUP BY tag ORDER BY seen DESC, tag`,
      { tag: "${noisefloor}/tags/${__value.raw}" },
    ),
  )
  .withPanel(
    bars(
      { title: "Observations over time", span: 24 },
      `SELECT ${bucketOf("observed_at")}, count() AS observations FROM ${OBSERVATIONS}
GROUP BY time ORDER BY time`,
    ),
  )
  .withPanel(
    table(
      { title: "Ports", span: 12 },
      `SELECT destination_port AS port, transport, count() AS observations FROM ${OBSERVATIONS}
GROUP BY port, transport ORDER BY observations DESC, port, transport LIMIT 100`,
    ),
  )
  .withPanel(
    table(
      { title: "Networks", span: 12 },
      `SELECT asn, organization, country, count() AS observations FROM ${OBSERVATIONS}
GROUP BY asn, organization, country ORDER BY observations DESC, asn, organization, country LIMIT 100`,
    ),
  )
  .withPanel(
    table(
      { title: "Last observations", span: 24 },
      `SELECT observed_at, sensor_id, destination_port, application, http_method, http_path, http_user_agent
FROM ${OBSERVATIONS}
ORDER BY observed_at DESC, observation_id LIMIT 100`,
    ),
  );
