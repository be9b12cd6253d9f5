-- Distinct addresses per tag and hour as exact sets: any hours and datasets merge into exact counts. The nil tag stands
-- for all addresses of an hour, whatever their tags. The fine index keeps a question about a small tag from reading the
-- large sets of its neighbours.
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
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400;

CREATE MATERIALIZED VIEW IF NOT EXISTS tag_activity_hourly_mv TO tag_activity_hourly AS
SELECT
    arrayJoin(arrayPushBack(tags, toUUID('00000000-0000-0000-0000-000000000000'))) AS tag_id,
    dataset,
    workspace_id,
    toStartOfHour(observed_at, 'UTC') AS hour,
    uniqExactState(source_ip) AS addresses
FROM observations
GROUP BY tag_id, dataset, workspace_id, hour;
