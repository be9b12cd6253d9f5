-- Feeds: saved searches whose addresses others fetch. The newest row of an id is the feed. Its id is made of its workspace
-- and name, so that two processes that create it at the same time make one.
CREATE TABLE IF NOT EXISTS feeds
(
    feed_id      UUID,
    workspace_id String,
    name         String,
    query        String,
    days         UInt8,
    description  String,
    max_addresses UInt32,
    ttl_hours    UInt32,
    is_guarded   Bool,
    -- It may keep its addresses for an hour when its list falls.
    keeps_fallen Bool,
    is_enabled   Bool,
    is_deleted   Bool,
    created_at   DateTime64(3, 'UTC'),
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at, is_deleted)
ORDER BY feed_id;

-- Networks whose addresses a workspace's feeds never list.
CREATE TABLE IF NOT EXISTS guard_networks
(
    guard_id     UUID,
    workspace_id String,
    network      String,
    note         String,
    is_deleted   Bool,
    created_at   DateTime64(3, 'UTC'),
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at, is_deleted)
ORDER BY guard_id;

-- When feeds' tokens were used: a row every few minutes that a process sees one used.
CREATE TABLE IF NOT EXISTS feed_token_uses
(
    token_id String,
    used_at  SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
    times    SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY token_id
TTL toDateTime(used_at, 'UTC') + toIntervalDay(90);

-- The log of each feed, from which all protocols say what changed: one row a refresh, so that none is seen by half. Of the
-- rows of a feed the one with the newest basis, then the newest time, says which list it has. A row whose parent is another
-- revision says how the two differ; one whose parent is its own revision has found no difference. A row with `is_base` has
-- the whole list, at least once a day.
-- An address has a version: the second in which the newest revision that names it was made. It is revoked unless it is
-- listed. Revisions that follow each other are of different seconds.
-- Processes that refresh a feed at the same time make two revisions of one parent, and one of them counts. The one after it
-- renews what the other said, so that a consumer of either misses nothing.
-- Changes stay for consumers that rarely ask. Rows without one, and the addresses that were only seen again, do not.
CREATE TABLE IF NOT EXISTS feed_refreshes
(
    feed_id      UUID,
    -- When the feed or the guarded networks changed last, as far as the process knew.
    basis        DateTime64(3, 'UTC'),
    -- As of when the list is.
    refreshed_at DateTime64(3, 'UTC'),
    revision     UUID,
    parent       UUID,
    -- When the revision was made, a whole second.
    revised_at   DateTime64(3, 'UTC'),
    -- The revision that made the list what it is, and when.
    list         UUID,
    listed_at    DateTime64(3, 'UTC'),
    -- Of a feed's first list: all of it.
    added        Array(UInt32) CODEC(Delta(4), ZSTD(1)),
    removed      Array(UInt32) CODEC(Delta(4), ZSTD(1)),
    -- Addresses with a new version that neither came nor left.
    renewed      Array(UInt32) CODEC(Delta(4), ZSTD(1)) TTL toDateTime(refreshed_at, 'UTC') + toIntervalDay(10),
    is_base      Bool,
    addresses    Array(UInt32) CODEC(Delta(4), ZSTD(1)),
    -- Of these addresses, in seconds since 1970.
    versions     Array(UInt32) CODEC(ZSTD(1)),
    count        UInt32,
    guarded      UInt32,
    is_truncated Bool,
    -- How many of the listed are no longer found, and the fall that they are kept for: how many addresses the list had
    -- before, and when it fell; 0 and 1970 without one.
    kept         UInt32,
    fell_from    UInt32,
    fell_at      DateTime64(3, 'UTC'),
    took_ms      UInt32
)
ENGINE = ReplacingMergeTree
PARTITION BY toMonday(refreshed_at, 'UTC')
ORDER BY (feed_id, refreshed_at, revision)
TTL toDateTime(refreshed_at, 'UTC') + toIntervalDay(90),
    toDateTime(refreshed_at, 'UTC') + toIntervalDay(10) DELETE WHERE parent = revision AND NOT is_base
SETTINGS merge_with_ttl_timeout = 86400;

-- When each address first entered any feed, from its rows of all of them.
CREATE TABLE IF NOT EXISTS feed_first_listed
(
    address      UInt32,
    first_listed SimpleAggregateFunction(min, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY address;

CREATE MATERIALIZED VIEW IF NOT EXISTS feed_first_listed_mv TO feed_first_listed AS
SELECT arrayJoin(added) AS address, revised_at AS first_listed
FROM feed_refreshes;

-- What the holder of a feed's token was last told of the feed, so that its next answer has what changed since then.
CREATE TABLE IF NOT EXISTS feed_streams
(
    token_id    String,
    -- A list.
    revision    UUID,
    answered_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(answered_at)
ORDER BY token_id
TTL toDateTime(answered_at, 'UTC') + toIntervalDay(90);

-- Addresses of which observations were removed: a feed keeps none of them.
CREATE TABLE IF NOT EXISTS removed_addresses
(
    addresses  Array(UInt32),
    removed_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY removed_at
TTL toDateTime(removed_at, 'UTC') + toIntervalDay(1);
