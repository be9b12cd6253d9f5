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

-- One row a refresh of a feed, so that none is seen by half. Of the rows of a feed the one with the newest basis, then the
-- newest time, says which list it has: `revision`. A row whose parent is another revision says how the two differ; one
-- whose parent is its own revision has found no difference. A row with `is_base` has the whole list, at least once a day.
-- Processes that refresh a feed at the same time make two revisions of one parent: each can be read, and one of them is
-- the newest. Ten days: cursors hold for seven, and begin with a base that is up to a day older.
CREATE TABLE IF NOT EXISTS feed_refreshes
(
    feed_id      UUID,
    -- When the feed or the guarded networks changed last, as far as the process knew.
    basis        DateTime64(3, 'UTC'),
    refreshed_at DateTime64(3, 'UTC'),
    revision     UUID,
    parent       UUID,
    added        Array(UInt32) CODEC(Delta(4), ZSTD(1)),
    removed      Array(UInt32) CODEC(Delta(4), ZSTD(1)),
    is_base      Bool,
    addresses    Array(UInt32) CODEC(Delta(4), ZSTD(1)),
    count        UInt32,
    guarded      UInt32,
    is_truncated Bool,
    took_ms      UInt32
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(refreshed_at, 'UTC')
ORDER BY (feed_id, refreshed_at, revision)
TTL toDateTime(refreshed_at, 'UTC') + toIntervalDay(10)
SETTINGS ttl_only_drop_parts = 1;
