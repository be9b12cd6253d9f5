-- The last time each address was seen with each tag, and under the nil tag the last time that it was seen at all: enough
-- to say inside the retention whether it was seen and what it was seen doing. A tag of its own says when it last attacked:
-- when a sensor saw a login, a command, a download or a payload over TCP. An address that attacked is not benign, so a
-- lookup reads this with the tags. LowCardinality keeps a tag in a byte or two; the fine index keeps the lookup of an
-- address from reading thousands of others.
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
SETTINGS non_replicated_deduplication_window = 1000, index_granularity = 1024, allow_suspicious_low_cardinality_types = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS address_tags_mv TO address_tags AS
SELECT
    source_ip,
    dataset,
    workspace_id,
    arrayJoin(arrayConcat(tags, [toUUID('00000000-0000-0000-0000-000000000000')],
        if(transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
            OR notEmpty(payload_sha256)), [toUUID('00000000-0000-0000-0000-000000000001')], []))) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
GROUP BY source_ip, dataset, workspace_id, tag_id;
