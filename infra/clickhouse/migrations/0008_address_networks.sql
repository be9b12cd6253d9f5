-- The last time each address was seen in each network and country that its observations name: enough to count addresses
-- by either, from any time up to now. A network's addresses lie together, so a count reads each column in long runs.
CREATE TABLE IF NOT EXISTS address_networks
(
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    asn          UInt32,
    organization LowCardinality(String),
    country      LowCardinality(String),
    source_ip    IPv4,
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (dataset, workspace_id, asn, organization, country, source_ip)
TTL toDateTime(last_seen, 'UTC') + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS address_networks_mv TO address_networks AS
SELECT
    dataset,
    workspace_id,
    asn,
    organization,
    country,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
GROUP BY dataset, workspace_id, asn, organization, country, source_ip;
