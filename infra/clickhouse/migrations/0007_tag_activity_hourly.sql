-- Distinct addresses per tag and hour, and under the nil tag per hour alone, as exact sets: any hours and datasets merge
-- into exact counts. The fine index keeps questions about a tag with few addresses from reading the sets of its neighbours,
-- which may be large.
CREATE TABLE IF NOT EXISTS tag_activity_hourly
(
    tag_id       UUID,
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    hour         DateTime('UTC'),
    addresses    AggregateFunction(uniqExact, IPv4)
)
ENGINE = AggregatingMergeTree
PARTITION BY toStartOfMonth(hour)
ORDER BY (tag_id, dataset, workspace_id, hour)
TTL hour + toIntervalHour(1) + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, index_granularity = 1024,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400
