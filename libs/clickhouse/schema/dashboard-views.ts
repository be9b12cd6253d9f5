import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { ATTACK_TAG } from "../client/attack-sql.ts";
import { CONTACT_TAG } from "../client/contact-sql.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { literal } from "../client/sql-text.ts";
import { NETWORK_ASN, NETWORK_ORGANIZATION } from "../facets/network-value.ts";
import { isShownActivity } from "./sensor-count-rows.ts";

/** A view that the user for dashboards reads instead of tables. It holds nothing. */
type DashboardView = {
  /**
   * On a cluster all servers have the rows of a `reference` view, one server has a row of a `row` view, and of a
   * `count` view each server counts its own addresses, for the same row.
   */
  readonly rows: "reference" | "row" | "count";
  /**
   * SQL: the view's rows. Each groups by columns of its table's sorting key: a filter outside reaches that key.
   * @param shown SQL: the list of the workspaces whose rows may be seen. The empty one, of shared data, is one of them.
   */
  readonly select: (shown: string) => string;
};

/** SQL. In PREWHERE and not in WHERE: conditions of a panel, which may throw, then see no other rows. */
const isShown = (shown: string) => `PREWHERE workspace_id IN ${shown}`;
const NO_TAG = `toUUID('${NIL_TAG_ID}')`;

/** Distinct addresses by time and scope, whatever their tags. */
const countsBy = (time: string): DashboardView => ({
  rows: "count",
  select: (shown) => `
    SELECT ${time}, dataset, workspace_id, uniqExactMerge(addresses) AS addresses
    FROM tag_activity_hourly ${isShown(shown)}
    WHERE tag_id = ${NO_TAG}
    GROUP BY ALL`,
});

/** The networks of addresses, as they are stored. */
const networks = (shown: string) => `
      SELECT dataset, workspace_id, ${NETWORK_ASN} AS asn, ${NETWORK_ORGANIZATION} AS organization, source_ip, last_seen
      FROM address_facets ${isShown(shown)} WHERE field = 'network'`;

const VIEWS: Readonly<Record<string, DashboardView>> = {
  tag_catalogue: {
    rows: "reference",
    select: () => `
      SELECT id AS tag_id, slug AS tag, name, category, toString(intention) AS intention, description, references, cves,
        recommend_block, created_at
      FROM tags FINAL`,
  },
  /** Sets of addresses, which a question merges: counts of several hours or scopes do not add up. */
  activity_states: {
    rows: "row",
    select: (shown) => `
      SELECT hour, dataset, workspace_id, tag_id, addresses FROM tag_activity_hourly ${isShown(shown)}`,
  },
  activity_hourly: {
    rows: "count",
    select: (shown) => `
      SELECT counted.hour AS hour, counted.dataset AS dataset, counted.workspace_id AS workspace_id,
        counted.tag_id AS tag_id, catalogue.tag AS tag, catalogue.name AS name, catalogue.category AS category,
        catalogue.intention AS intention, counted.addresses AS addresses
      FROM
      (
        SELECT hour, dataset, workspace_id, tag_id, uniqExactMerge(addresses) AS addresses
        FROM tag_activity_hourly ${isShown(shown)}
        WHERE tag_id != ${NO_TAG}
        GROUP BY hour, dataset, workspace_id, tag_id
      ) AS counted
      LEFT JOIN tag_catalogue AS catalogue ON catalogue.tag_id = counted.tag_id`,
  },
  addresses_hourly: countsBy("hour"),
  addresses_daily: countsBy("toDate(hour, 'UTC') AS day"),
  /**
   * `severity` makes one classification of several scopes, by max(): -1 a known benign operator's that did not
   * attack, 0 without tags, 1 benign, 2 unknown, 3 suspicious, 4 malicious.
   */
  addresses_seen: {
    rows: "row",
    select: (shown) => `
      SELECT address.source_ip AS source_ip, address.dataset AS dataset, address.workspace_id AS workspace_id,
        address.seen AS last_seen,
        multiIf(toUInt32(address.source_ip) <= actor.last AND NOT address.attacked, -1,
          toUInt32(address.source_ip) <= actor.last, greatest(address.worst, 3),
          address.attacked, greatest(address.worst, 2), address.worst) AS severity,
        ['benign', 'unknown', 'benign', 'unknown', 'suspicious', 'malicious'][severity + 2] AS classification
      FROM
      (
        SELECT 1 AS one, source_ip, dataset, workspace_id, max(last_seen) AS seen, max(toInt8(multiIf(
            tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'malicious'), 4,
            tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'suspicious'), 3,
            tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'unknown'), 2,
            tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'benign'), 1, 0))) AS worst,
          max(tag_id = ${ATTACK_TAG}) AS attacked
        FROM address_tags ${isShown(shown)}
        GROUP BY source_ip, dataset, workspace_id
      ) AS address
      ASOF LEFT JOIN
      (
        SELECT 1 AS one, first, last FROM network_ranges
        WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'actor')
      ) AS actor ON actor.one = address.one AND toUInt32(address.source_ip) >= actor.first`,
  },
  address_tags_seen: {
    rows: "row",
    select: (shown) => `
      SELECT address.source_ip AS source_ip, address.dataset AS dataset, address.workspace_id AS workspace_id,
        address.tag_id AS tag_id, catalogue.tag AS tag, catalogue.name AS name, catalogue.category AS category,
        catalogue.intention AS intention, address.seen AS last_seen
      FROM
      (
        SELECT source_ip, dataset, workspace_id, toUUID(tag_id) AS tag_id, max(last_seen) AS seen
        FROM address_tags ${isShown(shown)}
        WHERE tag_id NOT IN (${NO_TAG}, ${ATTACK_TAG}, ${CONTACT_TAG})
        GROUP BY source_ip, dataset, workspace_id, tag_id
      ) AS address
      LEFT JOIN tag_catalogue AS catalogue ON catalogue.tag_id = address.tag_id`,
  },
  networks_seen: {
    rows: "row",
    select: (shown) => `
      SELECT dataset, workspace_id, asn, organization, source_ip, max(network.last_seen) AS last_seen
      FROM (${networks(shown)}) AS network
      GROUP BY dataset, workspace_id, asn, organization, source_ip`,
  },
  /** The rows of networks_seen as they are stored, of which several may be for one: to group them takes far longer. */
  network_states: {
    rows: "row",
    select: networks,
  },
  /** The rows of address_facets as they are stored, of which several may be for one. */
  facet_states: {
    rows: "row",
    select: (shown) => `SELECT * FROM address_facets ${isShown(shown)}`,
  },
  /** FINAL: one that was sent twice is one. */
  observations_seen: {
    rows: "row",
    select: (shown) => `SELECT * FROM observations FINAL ${isShown(shown)}`,
  },
  sensors_hourly: {
    rows: "row",
    select: (shown) => `
      SELECT hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome,
        sum(counted) AS records, max(last) AS last_at
      FROM
      (
        SELECT hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome,
          max(records) AS counted, max(last_at) AS last
        FROM sensor_activity
        PREWHERE ${isShownActivity(shown, "sensor_activity")}
        GROUP BY hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, process
      )
      GROUP BY hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome`,
  },
  /** Neither what was sent nor by which sensor: of what came without a key, nothing says whose personal data it is. */
  dead_letters_received: {
    rows: "row",
    select: (shown) => `
      SELECT received_at, source, reason, splitByChar('/', publish_right)[2] AS workspace_id, payload_bytes,
        id IN (SELECT id FROM dead_letter_retries FINAL WHERE is_done) AS is_stored
      FROM dead_letters FINAL
      PREWHERE splitByChar('/', publish_right)[2] IN ${shown}`,
  },
};

export const DASHBOARD_VIEWS: readonly string[] = Object.keys(VIEWS);
const viewsWith = (rows: string) => DASHBOARD_VIEWS.filter((name) => VIEWS[name]?.rows === rows);
export const REFERENCE_VIEWS = viewsWith("reference");
export const ROW_VIEWS = viewsWith("row");
export const COUNT_VIEWS = viewsWith("count");

/**
 * Makes the views for dashboards, in a client's database: with its user's rights they return the rows of shared data
 * and of these workspaces alone, so their reader needs no right on a table. They are made anew each time, for other
 * workspaces and after a migration.
 */
export async function createDashboardViews(client: ClickHouseClient, workspaces: readonly string[]): Promise<void> {
  const shown = `(${["", ...workspaces].map(literal).join(", ")})`;
  for (const [name, { select }] of Object.entries(VIEWS)) {
    // A filter that the reader brings along for a table would see all its rows, and be evaluated with our rights.
    await client.command({
      query: `CREATE OR REPLACE VIEW ${name} DEFINER = CURRENT_USER SQL SECURITY DEFINER AS ${select(shown)}
        SETTINGS additional_table_filters = {}`,
    });
  }
}
