-- The rows of address_tags outside of the global dataset, by scope and tag instead of by address: which addresses had some
-- tags there is read without the rows of all others. For the global dataset the index in memory answers this.
CREATE TABLE IF NOT EXISTS scope_tags
(
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    tag_id       LowCardinality(UUID),
    source_ip    IPv4,
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (dataset, workspace_id, tag_id, source_ip)
TTL toDateTime(last_seen, 'UTC') + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, allow_suspicious_low_cardinality_types = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS scope_tags_mv TO scope_tags AS
SELECT
    dataset,
    workspace_id,
    arrayJoin(tags) AS tag_id,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
WHERE dataset != 'global'
GROUP BY dataset, workspace_id, tag_id, source_ip;
