-- The addresses behind tag_activity_hourly, one row each, for lists and samples.
CREATE TABLE IF NOT EXISTS tag_addresses_hourly
(
    tag_id       UUID,
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    hour         DateTime('UTC'),
    source_ip    IPv4
)
ENGINE = ReplacingMergeTree
PARTITION BY toMonday(hour)
ORDER BY (tag_id, dataset, workspace_id, hour, source_ip)
TTL hour + toIntervalHour(1) + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000
