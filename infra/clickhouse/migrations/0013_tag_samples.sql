-- The addresses of each tag and hour by hash value, for lists: each row has those with values from hash_from up to that
-- of the next row. To list a thousand of a large hour reads the lowest rows alone. And the numbers of addresses in the
-- rows of an hour add up to its count.
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
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400;

CREATE MATERIALIZED VIEW IF NOT EXISTS tag_samples_mv TO tag_samples AS
SELECT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    roundDown(intHash32(toUInt32(source_ip)), [
        0, 4194304, 8388608, 16777216, 33554432, 50331648, 67108864, 100663296, 134217728, 201326592, 268435456, 402653184,
        536870912, 805306368, 1073741824, 2147483648
    ]) AS hash_from,
    toStartOfHour(observed_at, 'UTC') AS hour,
    groupUniqArray(source_ip) AS addresses
FROM observations
GROUP BY tag_id, dataset, workspace_id, hash_from, hour;
