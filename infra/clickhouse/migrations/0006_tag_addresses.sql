-- In which hours each address was seen with a tag: one bit an hour, the lowest for the first of the 64 hours from start.
-- LowCardinality keeps a tag in a byte or two; 64 hours begin at multiples of 64 hours since 1970 UTC.
-- A series is what one tag has in one dataset and workspace: one column instead of three finds its rows. Two series with
-- the same 128 bits are as unlikely as two tags with the same UUID. Dataset and workspace follow in the key for questions
-- about all tags of a scope.
CREATE TABLE IF NOT EXISTS tag_addresses
(
    series       FixedString(16) MATERIALIZED sipHash128(tag_id, dataset, workspace_id),
    tag_id       LowCardinality(UUID),
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    start        DateTime('UTC'),
    source_ip    IPv4,
    hours        SimpleAggregateFunction(groupBitOr, UInt64)
)
ENGINE = AggregatingMergeTree
PARTITION BY toStartOfMonth(start)
PRIMARY KEY (series, dataset, workspace_id, start, source_ip)
ORDER BY (series, dataset, workspace_id, start, source_ip, tag_id)
TTL start + toIntervalHour(64) + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, allow_suspicious_low_cardinality_types = 1,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400;

CREATE MATERIALIZED VIEW IF NOT EXISTS tag_addresses_mv TO tag_addresses AS
SELECT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    toDateTime(intDiv(toUnixTimestamp(observed_at), 64 * 3600) * 64 * 3600, 'UTC') AS start,
    source_ip,
    groupBitOr(bitShiftLeft(toUInt64(1), intDiv(toUnixTimestamp(observed_at), 3600) % 64)) AS hours
FROM observations
GROUP BY tag_id, dataset, workspace_id, start, source_ip;
