-- Requests of the HTTP intake by a digest of their sender and body, so that one that is sent again after a failure is
-- told from another one with the same content. answered says how many of that content were answered: the next one has
-- this number. began_at is when that one came first, if records of it have no time of their own; else 1970.
CREATE TABLE IF NOT EXISTS intake_requests
(
    digest     UInt64,
    answered   UInt32,
    began_at   DateTime64(3, 'UTC'),
    updated_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY digest
TTL toDateTime(updated_at, 'UTC') + toIntervalDay(100);

-- Times of observations that rollups still count, or do not count yet: their rollups are made anew. In milliseconds
-- since 1970 UTC; to_ms is exclusive.
CREATE TABLE IF NOT EXISTS rollup_renewals
(
    id        UUID,
    from_ms   Int64,
    to_ms     Int64,
    marked_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(marked_at)
ORDER BY id;
