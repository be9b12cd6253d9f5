/** One table of the store: what retention, backups and grants have to know of it. Its columns are in its migration. */
type TableProperties = {
  /** Left out, rows are kept for ever. */
  readonly ageing?: {
    /** The column whose time counts. */
    readonly time: string;
    /** SQL: from when on a row's age counts. A rollup's row must outlive the last observation that it counts. */
    readonly from: string;
  };
  /**
   * Only a `copied` table is in a backup. A restore fills a `derived` one from the observations, by the view
   * `<table>_mv`, and leaves a `transient` one as it is.
   */
  readonly backup: "copied" | "derived" | "transient";
  /** Whether dashboards may read it, all or some of its columns: not workspaces, keys or what senders sent. */
  readonly isForDashboards: boolean | readonly string[];
  /** Its rows may belong to workspaces, and dashboards read those that are for them. */
  readonly hasScopes?: true;
  /** Its rows are keys: a restore keeps revoked what was revoked since the backup. */
  readonly holdsKeys?: true;
  /**
   * SQL: the row is on the shard of a cluster whose number is this modulo the sum of all weights. Left out, every
   * server has every row, except of tables that are derived from observations or transient: their rows are on the
   * shard of the observations.
   */
  readonly shardBy?: string;
};

const BY_ID = { shardBy: "cityHash64(id)" };
const HOURLY = { time: "hour", from: "(hour + toIntervalHour(1))" };
const LAST_SEEN = { time: "last_seen", from: "toDateTime(last_seen, 'UTC')" };
const DERIVED = { backup: "derived", isForDashboards: true, hasScopes: true } as const;
const COPIED = { backup: "copied", isForDashboards: true } as const;
const PRIVATE = { backup: "copied", isForDashboards: false } as const;

/**
 * Every table that the migrations make. A test compares this list with the migrations and with the grants of users.xml.
 */
export const TABLES: Readonly<Record<string, TableProperties>> = {
  schema_migrations: PRIVATE,
  tags: COPIED,
  tag_rules: COPIED,
  network_lists: COPIED,
  network_prefixes: COPIED,
  network_ranges: COPIED,
  network_generations: COPIED,
  workspaces: PRIVATE,
  api_keys: { ...PRIVATE, holdsKeys: true },
  sensor_keys: { ...PRIVATE, holdsKeys: true },
  tag_activity_hourly: { ...DERIVED, ageing: HOURLY },
  tag_addresses: { ...DERIVED, ageing: { time: "start", from: "(start + toIntervalHour(64))" } },
  address_tags: { ...DERIVED, ageing: LAST_SEEN },
  address_networks: { ...DERIVED, ageing: LAST_SEEN },
  // For queries of the service: address_tags and tag_addresses have their rows, too.
  scope_tags: { ...DERIVED, isForDashboards: false, ageing: LAST_SEEN },
  tag_samples: { ...DERIVED, isForDashboards: false, ageing: HOURLY },
  address_changes: { backup: "transient", isForDashboards: false },
  dead_letters: {
    ...COPIED,
    ...BY_ID,
    // Without the bytes and the texts that may quote them: nothing says whose personal data these are.
    isForDashboards: ["received_at", "source", "reason", "key_id", "sensor_id", "payload_bytes", "id"],
    ageing: { time: "received_at", from: "toDateTime(received_at, 'UTC')" },
  },
  dead_letter_retries: {
    ...COPIED,
    ...BY_ID,
    isForDashboards: ["id", "retried_at", "is_done", "reason"],
    ageing: { time: "retried_at", from: "toDateTime(retried_at, 'UTC')" },
  },
  sensor_activity: { ...COPIED, shardBy: "cityHash64(sensor_id)", hasScopes: true, ageing: HOURLY },
  consumer_lag: { ...COPIED, shardBy: "cityHash64(topic)" },
  backups: PRIVATE,
  observations: {
    ...COPIED,
    hasScopes: true,
    // All that is derived from an address's observations is on one shard: distinct addresses of all shards add up.
    shardBy: "toUInt32(source_ip)",
    ageing: { time: "observed_at", from: "toDateTime(observed_at, 'UTC')" },
  },
};

/**
 * The views for dashboards. They hold nothing: backups leave them out, and the migration of a restore makes them. On a
 * cluster all servers have the rows of a `reference` view, one shard has a row of a `row` view, and of a `count` view
 * each shard counts its own addresses, for the same row.
 */
const VIEWS: Readonly<Record<string, "reference" | "row" | "count">> = {
  tag_catalogue: "reference",
  activity_hourly: "count",
  addresses_hourly: "count",
  addresses_daily: "count",
  addresses_seen: "row",
  address_tags_seen: "row",
  networks_seen: "row",
  sensors_hourly: "row",
};
export const DASHBOARD_VIEWS: readonly string[] = Object.keys(VIEWS);
const viewsWith = (rows: string) => DASHBOARD_VIEWS.filter((name) => VIEWS[name] === rows);
export const REFERENCE_VIEWS = viewsWith("reference");
export const ROW_VIEWS = viewsWith("row");
export const COUNT_VIEWS = viewsWith("count");

const entries = Object.entries(TABLES);
const namesOf = (isWanted: (properties: TableProperties) => boolean) =>
  entries.filter(([, properties]) => isWanted(properties)).map(([name]) => name);

export const COPIED_TABLES = namesOf(({ backup }) => backup === "copied");
export const DERIVED_TABLES = namesOf(({ backup }) => backup === "derived");
export const TRANSIENT_TABLES = namesOf(({ backup }) => backup === "transient");
/** What dashboards may read, as a GRANT names it: a table, or some of its columns. */
export const DASHBOARD_GRANTS: readonly { readonly table: string; readonly columns: readonly string[] }[] = [
  ...entries.flatMap(([table, { isForDashboards: what }]) =>
    what === false ? [] : [{ table, columns: what === true ? [] : what }],
  ),
  ...DASHBOARD_VIEWS.map((table) => ({ table, columns: [] })),
];
/** The tables of which dashboards read only the rows of some scopes. */
export const SCOPED_TABLES = namesOf(
  ({ isForDashboards, hasScopes }) => isForDashboards !== false && hasScopes === true,
);
/** The tables whose rows are spread over the shards of a cluster. */
export const SHARDED_TABLES = namesOf(({ backup, shardBy }) => shardBy !== undefined || backup !== "copied");
export const KEY_TABLES = namesOf(({ holdsKeys }) => holdsKeys === true);

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
  const found = AGEING_TABLES.find((table) => table.name === name);
  if (found === undefined) throw new RangeError(`the rows of ${name} do not age`);
  return found;
}
