/*
 * Our tables as SQL names them: `FROM ${OBSERVATIONS} FINAL`. The database is a parameter that the client binds, so
 * that the same SQL reads the table of one server, the rows of all servers of a cluster, or those of each by itself.
 */

/** What `rows_database` and `own_database` are in SQL. */
export type Databases = {
  /** The database of tables whose rows a cluster spreads over its servers. */
  readonly rows_database: string;
  /** The database of all tables, on each server. */
  readonly own_database: string;
};

/** @param table one whose rows a cluster spreads over its servers. */
export function rowsOf(table: string): string {
  return `{rows_database:Identifier}.${table}`;
}

export const ADDRESS_FACETS = rowsOf("address_facets");
export const ADDRESS_TAGS = rowsOf("address_tags");
export const CALLBACKS = rowsOf("callbacks");
export const CONSUMER_LAG = rowsOf("consumer_lag");
export const DEAD_LETTER_RETRIES = rowsOf("dead_letter_retries");
export const DEAD_LETTERS = rowsOf("dead_letters");
export const FEED_FIRST_LISTED = rowsOf("feed_first_listed");
export const FEED_REFRESHES = rowsOf("feed_refreshes");
export const INTAKE_REQUESTS = rowsOf("intake_requests");
export const OBSERVATION_CHANGES = rowsOf("observation_changes");
export const OBSERVATIONS = rowsOf("observations");
export const SENSOR_ACTIVITY = rowsOf("sensor_activity");
export const TAG_ACTIVITY_HOURLY = rowsOf("tag_activity_hourly");
export const TAG_ADDRESSES = rowsOf("tag_addresses");
export const WATCH_LOG = rowsOf("watch_log");

/** Tables that every server has whole. Only SQL that each server of a cluster runs by itself has to name them so. */
export const NETWORK_RANGES = "{own_database:Identifier}.network_ranges";
export const NETWORK_GENERATIONS = "{own_database:Identifier}.network_generations";

/** SQL: the name of the client's database. */
export const OWN_DATABASE = "{own_database:String}";
