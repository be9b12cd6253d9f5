-- How many messages of a Kafka topic the intake had still to read, as its processes saw it last.
CREATE TABLE IF NOT EXISTS consumer_lag
(
    topic      String,
    messages   UInt64,
    updated_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY topic
