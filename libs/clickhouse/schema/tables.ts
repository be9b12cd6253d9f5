/** One table of the store: what retention, backups and grants have to know of it. Its columns are in its migration. */
type TableProperties = {
  /** Left out, rows are kept for ever. */
  readonly ageing?: {
    /** The column whose time counts. */
    readonly time: string;
    /** SQL: from when on a row's age counts. A rollup's row must outlive the last observation that it counts. */
    readonly from: string;
  };
  /** Its rows are deleted after a time that its migration says, whatever the retention is. */
  readonly hasOwnTtl?: true;
  /**
   * Only a `copied` table is in a backup. A restore fills a `derived` one from the observations, by the view
   * `<table>_mv`, and leaves a `transient` one as it is.
   */
  readonly backup: "copied" | "derived" | "transient";
  /** Dashboards may read it: all its rows are shared data. Of other tables they read views. */
  readonly isShared?: true;
  /**
   * SQL: a number by which a cluster spreads the rows over its servers. Left out, every server has every row, except of
   * tables that are derived from observations or transient: their rows are where the observations are.
   */
  readonly spreadBy?: string;
};

const BY_ID = { spreadBy: "cityHash64(id)" };
const HOURLY = { time: "hour", from: "(hour + toIntervalHour(1))" };
const LAST_SEEN = { time: "last_seen", from: "toDateTime(last_seen, 'UTC')" };
const DERIVED = { backup: "derived" } as const;
const COPIED = { backup: "copied" } as const;
const SHARED = { ...COPIED, isShared: true } as const;

/**
 * Every table that the migrations make. A test compares this list with the migrations.
 */
export const TABLES: Readonly<Record<string, TableProperties>> = {
  schema_migrations: COPIED,
  tags: SHARED,
  tag_rules: SHARED,
  network_lists: SHARED,
  network_prefixes: SHARED,
  network_ranges: SHARED,
  network_generations: SHARED,
  workspaces: COPIED,
  credentials: COPIED,
  feeds: COPIED,
  guard_networks: COPIED,
  known_callback_hosts: COPIED,
  // All rows of a feed are on one server, which says which of them is the newest.
  feed_refreshes: { ...COPIED, hasOwnTtl: true, spreadBy: "cityHash64(feed_id)" },
  feed_streams: { ...COPIED, hasOwnTtl: true },
  feed_token_uses: { ...COPIED, hasOwnTtl: true },
  removed_addresses: { ...COPIED, hasOwnTtl: true },
  feed_first_listed: { ...COPIED, spreadBy: "address" },
  watches: COPIED,
  // All rows are on one server, which says which of two looks came first.
  watch_log: { ...COPIED, hasOwnTtl: true, spreadBy: "toUInt8(0)" },
  watch_known: COPIED,
  watch_deliveries: { ...COPIED, hasOwnTtl: true },
  tag_activity_hourly: { ...DERIVED, ageing: HOURLY },
  tag_addresses: { ...DERIVED, ageing: { time: "start", from: "(start + toIntervalHour(64))" } },
  address_tags: { ...DERIVED, ageing: LAST_SEEN },
  address_facets: { ...DERIVED, ageing: LAST_SEEN },
  callbacks: { ...DERIVED, ageing: HOURLY },
  observation_changes: { backup: "transient" },
  dead_letters: {
    ...COPIED,
    ...BY_ID,
    ageing: { time: "received_at", from: "toDateTime(received_at, 'UTC')" },
  },
  dead_letter_retries: {
    ...COPIED,
    ...BY_ID,
    ageing: { time: "retried_at", from: "toDateTime(retried_at, 'UTC')" },
  },
  sensor_activity: { ...COPIED, spreadBy: "cityHash64(sensor_id)", ageing: HOURLY },
  intake_requests: {
    ...COPIED,
    spreadBy: "digest",
    ageing: { time: "updated_at", from: "toDateTime(updated_at, 'UTC')" },
  },
  followed_files: { ...COPIED, hasOwnTtl: true },
  rollup_renewals: COPIED,
  consumer_lag: { ...SHARED, spreadBy: "cityHash64(topic)" },
  backups: COPIED,
  observations: {
    ...COPIED,
    // All that is derived from an address's observations is on one server: numbers of distinct addresses add up.
    spreadBy: "toUInt32(source_ip)",
    ageing: { time: "observed_at", from: "toDateTime(observed_at, 'UTC')" },
  },
};

const entries = Object.entries(TABLES);
const namesOf = (isWanted: (properties: TableProperties) => boolean) =>
  entries.filter(([, properties]) => isWanted(properties)).map(([name]) => name);

export const COPIED_TABLES = namesOf(({ backup }) => backup === "copied");
export const DERIVED_TABLES = namesOf(({ backup }) => backup === "derived");
export const TRANSIENT_TABLES = namesOf(({ backup }) => backup === "transient");
/** The tables that dashboards may read. */
export const SHARED_TABLES = namesOf(({ isShared }) => isShared === true);
/** The tables whose rows a cluster spreads over its servers. */
export const SPREAD_TABLES = namesOf(({ backup, spreadBy }) => spreadBy !== undefined || backup !== "copied");
/** The tables whose TTL the retention does not change. */
export const OWN_TTL_TABLES = namesOf(({ hasOwnTtl }) => hasOwnTtl === true);

/** A table whose rows are deleted some days after their time. */
export type AgeingTable = {
  readonly name: string;
  readonly time: string;
  /** The TTL in the server's own spelling: the moment at which a row ends. */
  readonly ttl: (days: number) => string;
};

/** The observations come last: their table says which retention holds, so an interrupted change must not look done. */
export const AGEING_TABLES: readonly AgeingTable[] = entries.flatMap(([name, { ageing }]) =>
  ageing ? [{ name, time: ageing.time, ttl: (days: number) => `${ageing.from} + toIntervalDay(${days})` }] : [],
);

/** @throws RangeError for a table whose rows are kept for ever. */
export function ageingTable(name: string): AgeingTable {
  const ageing = AGEING_TABLES.find((table) => table.name === name);
  if (ageing === undefined) throw new RangeError(`the rows of ${name} do not age`);
  return ageing;
}
