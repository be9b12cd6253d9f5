-- What people want to be told of. The newest row of an id is the watch. condition and deliver are JSON; the latter has
-- secrets.
CREATE TABLE IF NOT EXISTS watches
(
    watch_id           UUID,
    workspace_id       String,
    name               String,
    origin             LowCardinality(String),
    condition          String,
    deliver            String,
    repeat_after_hours UInt32,
    is_enabled         Bool,
    -- When the condition was made or changed.
    since_at           DateTime64(3, 'UTC'),
    is_deleted         Bool,
    created_at         DateTime64(3, 'UTC'),
    updated_at         DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at, is_deleted)
ORDER BY watch_id;

-- The log of all watches: one row a look, with the events that it found and the position up to which it had read what was
-- stored, so that both are there or neither. Looks are numbered without a gap. An insert names the row that it follows as
-- its token: of two processes that write the same look, the first one wins, and the other one reads the log again.
-- The process that wrote the last row goes on looking; others take over once that row is old. A look that found nothing
-- is written now and then, to say that its process is alive.
-- subjects has for each event what it told of: addresses as numbers, or hashes; subject_times when, in seconds since 1970.
CREATE TABLE IF NOT EXISTS watch_log
(
    look          UInt64,
    holder        String,
    looked_at     DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    position      String CODEC(ZSTD(1)),
    event_ids     Array(UUID),
    workspace_ids Array(String),
    watch_ids     Array(UUID),
    bodies        Array(String) CODEC(ZSTD(1)),
    subjects      Array(Array(UInt64)) CODEC(ZSTD(1)),
    subject_times Array(Array(UInt32)) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY look
TTL toDateTime(looked_at, 'UTC') + toIntervalDay(90),
    toDateTime(looked_at, 'UTC') + toIntervalDay(1) DELETE WHERE empty(event_ids)
SETTINGS non_replicated_deduplication_window = 1000;

-- What a watch need not tell of because it was there before: the addresses that matched a search, the values of a field.
-- Of a watch the row of its present condition counts. A row may have a million subjects, so the index knows each.
CREATE TABLE IF NOT EXISTS watch_known
(
    watch_id UUID,
    since_at DateTime64(3, 'UTC'),
    subjects Array(UInt64) CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (watch_id, since_at)
SETTINGS index_granularity = 1;

-- How the delivery of each event to each destination goes.
CREATE TABLE IF NOT EXISTS watch_deliveries
(
    -- Of the event and the destination.
    delivery_id     String,
    watch_id        UUID,
    event_id        UUID,
    destination_id  String,
    state           LowCardinality(String),
    attempts        UInt32,
    -- Of HTTP; 0 without one.
    last_status     UInt16,
    last_error      String,
    -- 1970 before the first attempt.
    last_attempt_at DateTime64(3, 'UTC'),
    next_attempt_at DateTime64(3, 'UTC'),
    updated_at      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY delivery_id
TTL toDateTime(updated_at, 'UTC') + toIntervalDay(90);
