-- The last time that each address was seen with each value of some fields: which addresses had a value is one range of the
-- key. Texts are in lower case, since the search compares in any case. A port has five digits and its transport, so that
-- ports that follow each other are one range, too. Tags, networks and countries have tables of their own; what has few
-- values, such as sensors and methods, is read from the observations.
CREATE TABLE IF NOT EXISTS address_values
(
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    field        Enum8('port' = 1, 'path' = 2, 'user_agent' = 3, 'host' = 4, 'ja3' = 5, 'ja4' = 6, 'hassh' = 7, 'rdns' = 8),
    value        String,
    source_ip    IPv4,
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (dataset, workspace_id, field, value, source_ip)
TTL toDateTime(last_seen, 'UTC') + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000;

-- Lower case is made of the values that are there, since most are empty.
CREATE MATERIALIZED VIEW IF NOT EXISTS address_values_mv TO address_values AS
SELECT
    dataset,
    workspace_id,
    field,
    lowerUTF8(text) AS value,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
ARRAY JOIN
    [
        if(isNull(destination_port), '', concat(leftPad(toString(assumeNotNull(destination_port)), 5, '0'), '/', transport)),
        http_path, http_user_agent, http_host, tls_ja3, tls_ja4, ssh_hassh, rdns
    ] AS text,
    [1, 2, 3, 4, 5, 6, 7, 8] AS field
WHERE text != ''
GROUP BY dataset, workspace_id, field, value, source_ip;

-- What a database has that was made without the table; its view fills in what comes from now on. A row of both counts once.
INSERT INTO address_values (dataset, workspace_id, field, value, source_ip, last_seen)
SELECT
    dataset,
    workspace_id,
    field,
    lowerUTF8(text) AS value,
    source_ip,
    observed_at AS last_seen
FROM observations
ARRAY JOIN
    [
        if(isNull(destination_port), '', concat(leftPad(toString(assumeNotNull(destination_port)), 5, '0'), '/', transport)),
        http_path, http_user_agent, http_host, tls_ja3, tls_ja4, ssh_hassh, rdns
    ] AS text,
    [1, 2, 3, 4, 5, 6, 7, 8] AS field
WHERE text != '';
