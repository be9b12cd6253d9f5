import { DashboardBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { bars, lines, otherDashboards, pie, stat, table } from "./panels.ts";
import { ANY_TAG, bucketOf, CHOSEN_TAGS, classificationOf, IN_RANGE, IN_SCOPES, seenSince } from "./sql.ts";
import { scope, service, tag, width } from "./variables.ts";

const ADDRESS_PAGE = "${noisefloor}/ip/${__value.raw}";
const TAG_PAGE = "${noisefloor}/tags/${__value.raw}";
const SINCE = "Seen since the beginning of the range, whatever its end";

/** What scanners did: addresses, tags, classification, networks. */
export const activity = new DashboardBuilder("Noisefloor: activity")
  .uid("noisefloor-activity")
  .tags(["noisefloor"])
  .timezone("utc")
  .time({ from: "now-7d", to: "now" })
  .link(otherDashboards)
  .variables([tag, scope, width, service])
  .withPanel(
    stat(
      { title: "Addresses", span: 6, description: "Distinct addresses in the range" },
      `SELECT uniqExactMerge(addresses) AS addresses FROM activity_states
WHERE ${ANY_TAG} AND ${IN_SCOPES} AND ${IN_RANGE}`,
    ),
  )
  .withPanel(
    stat(
      { title: "Addresses with the chosen tags", span: 6, description: "Distinct addresses in the range" },
      `SELECT uniqExactMerge(addresses) AS addresses FROM activity_states
WHERE NOT ${ANY_TAG} AND ${CHOSEN_TAGS} AND ${IN_SCOPES} AND ${IN_RANGE}`,
    ),
  )
  .withPanel(
    bars(
      { title: "Addresses over time", span: 24, description: "Distinct addresses of each bucket, in UTC" },
      `SELECT ${bucketOf("hour")}, uniqExactMerge(addresses) AS addresses FROM activity_states
WHERE ${ANY_TAG} AND ${IN_SCOPES} AND ${IN_RANGE}
GROUP BY time ORDER BY time`,
    ),
  )
  .withPanel(
    lines(
      {
        title: "Tags over time",
        span: 24,
        description: "Distinct addresses of the ten most active of the chosen tags",
      },
      `SELECT time, catalogue.tag AS tag, counted.addresses AS addresses
FROM (
  SELECT ${bucketOf("hour")}, tag_id, uniqExactMerge(addresses) AS addresses FROM activity_states
  WHERE ${IN_SCOPES} AND ${IN_RANGE} AND tag_id IN (
    SELECT tag_id FROM activity_states
    WHERE NOT ${ANY_TAG} AND ${CHOSEN_TAGS} AND ${IN_SCOPES} AND ${IN_RANGE}
    GROUP BY tag_id ORDER BY uniqExactMerge(addresses) DESC, toString(tag_id) LIMIT 10
  )
  GROUP BY time, tag_id
) AS counted
INNER JOIN tag_catalogue AS catalogue ON catalogue.tag_id = counted.tag_id
ORDER BY time, tag`,
    ),
  )
  .withPanel(
    table(
      { title: "Tags", span: 12, description: "Distinct addresses in the range" },
      `SELECT catalogue.tag AS tag, catalogue.name AS name, catalogue.intention AS intention, counted.addresses AS addresses
FROM (
  SELECT tag_id, uniqExactMerge(addresses) AS addresses FROM activity_states
  WHERE NOT ${ANY_TAG} AND ${CHOSEN_TAGS} AND ${IN_SCOPES} AND ${IN_RANGE}
  GROUP BY tag_id
) AS counted
INNER JOIN tag_catalogue AS catalogue ON catalogue.tag_id = counted.tag_id
ORDER BY addresses DESC, tag LIMIT 100`,
      { tag: TAG_PAGE },
    ),
  )
  .withPanel(
    pie(
      { title: "Classification", span: 12, description: SINCE },
      `SELECT ${classificationOf("worst")} AS classification, count() AS addresses
FROM (
  SELECT source_ip, max(severity) AS worst FROM addresses_seen
  WHERE ${IN_SCOPES}
  GROUP BY source_ip HAVING ${seenSince("max(last_seen)")}
)
GROUP BY classification ORDER BY addresses DESC, classification`,
    ),
  )
  .withPanel(
    table(
      { title: "Networks", span: 8, description: SINCE },
      `SELECT asn, max(organization) AS organization, uniqExact(source_ip) AS addresses FROM network_states
WHERE ${IN_SCOPES} AND ${seenSince("last_seen")} AND asn != 0
GROUP BY asn ORDER BY addresses DESC, asn LIMIT 50`,
    ),
  )
  .withPanel(
    table(
      { title: "Countries", span: 8, description: SINCE },
      `SELECT upper(value) AS country, uniqExact(source_ip) AS addresses FROM facet_states
WHERE ${IN_SCOPES} AND field = 'country' AND ${seenSince("last_seen")}
GROUP BY country ORDER BY addresses DESC, country LIMIT 50`,
    ),
  )
  .withPanel(
    table(
      { title: "Last addresses", span: 8, description: SINCE },
      `SELECT toString(source_ip) AS address, ${classificationOf("max(severity)")} AS classification,
  max(last_seen) AS seen
FROM addresses_seen
WHERE ${IN_SCOPES}
GROUP BY source_ip HAVING ${seenSince("seen")} ORDER BY seen DESC, source_ip LIMIT 50`,
      { address: ADDRESS_PAGE },
    ),
  );
