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
