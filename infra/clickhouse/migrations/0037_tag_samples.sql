-- The addresses of each tag and hour by hash value, for lists: each row has those with values from hash_from up to that
-- of the next row. To list a thousand of a large hour reads the lowest rows alone: about two thousand addresses at most,
-- where the hour has up to 1.2 million. And the numbers of addresses in the rows of an hour add up to its count.
CREATE TABLE IF NOT EXISTS tag_samples
(
    tag_id       LowCardinality(UUID),
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    hash_from    UInt32,
    hour         DateTime('UTC'),
    addresses    SimpleAggregateFunction(groupUniqArrayArray, Array(IPv4))
)
ENGINE = AggregatingMergeTree
PARTITION BY toStartOfMonth(hour)
ORDER BY (tag_id, dataset, workspace_id, hash_from, hour)
TTL hour + toIntervalHour(1) + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, allow_suspicious_low_cardinality_types = 1, index_granularity = 64,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400
