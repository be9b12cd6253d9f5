-- The result of each dead letter's last retry. It is never older than its dead letter, so it outlives it.
CREATE TABLE IF NOT EXISTS dead_letter_retries
(
    id         String,
    retried_at DateTime64(3, 'UTC'),
    is_done  Bool,
    reason     LowCardinality(String),
    detail     String
)
ENGINE = ReplacingMergeTree(retried_at)
ORDER BY id
TTL toDateTime(retried_at, 'UTC') + toIntervalDay(100)
