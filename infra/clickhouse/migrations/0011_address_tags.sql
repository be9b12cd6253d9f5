-- The last time each address was seen with each tag, and under the nil tag seen at all: enough to say inside the retention
-- window whether it was seen and what it was seen doing. LowCardinality keeps a tag in a byte or two, as tag-activity
-- reads all rows; the fine index keeps lookups of single addresses from reading thousands of others.
CREATE TABLE IF NOT EXISTS address_tags
(
    source_ip    IPv4,
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    tag_id       LowCardinality(UUID),
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (source_ip, dataset, workspace_id, tag_id)
TTL toDateTime(last_seen, 'UTC') + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, index_granularity = 1024, allow_suspicious_low_cardinality_types = 1
