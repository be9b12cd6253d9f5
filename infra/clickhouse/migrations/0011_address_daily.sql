-- When each address was first and last seen, per UTC day.
CREATE TABLE IF NOT EXISTS address_daily
(
    source_ip    IPv4,
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    day          Date,
    first_seen   SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
PARTITION BY toMonday(day)
ORDER BY (source_ip, dataset, workspace_id, day)
TTL day + toIntervalDay(1) + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000
