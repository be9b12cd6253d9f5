-- What has just been stored, for the processes that keep what they answer with in memory. They read on from the last block
-- that they have seen: a block gets its number when it becomes visible, so none with a lower number can follow.
-- It has the columns that the rollups address_tags and address_facets are made of, as they are: an insert stores each
-- observation here as well, so this must cost it little.
CREATE TABLE IF NOT EXISTS observation_changes
(
    stored_at        DateTime('UTC') DEFAULT now(),
    dataset          LowCardinality(String),
    workspace_id     LowCardinality(String),
    source_ip        IPv4,
    observed_at      DateTime64(3, 'UTC'),
    destination_port Nullable(UInt16),
    transport        LowCardinality(String),
    tags             Array(UUID),
    credentials      Array(Tuple(username String, password String)),
    login_attempts   UInt32,
    commands         Array(String),
    urls             Array(String),
    payload_sha256   Array(String),
    http_host        String,
    http_path        String,
    http_user_agent  String,
    tls_ja3          String,
    tls_ja4          String,
    tls_sni          String,
    ssh_hassh        String,
    asn              UInt32,
    organization     LowCardinality(String),
    country          LowCardinality(String),
    rdns             String
)
ENGINE = MergeTree
PARTITION BY toStartOfFiveMinutes(stored_at)
ORDER BY tuple()
TTL stored_at + toIntervalMinute(15)
SETTINGS enable_block_number_column = 1, ttl_only_drop_parts = 1, min_bytes_for_wide_part = 134217728;

CREATE MATERIALIZED VIEW IF NOT EXISTS observation_changes_mv TO observation_changes AS
SELECT
    dataset,
    workspace_id,
    source_ip,
    observed_at,
    destination_port,
    transport,
    tags,
    credentials,
    login_attempts,
    commands,
    urls,
    payload_sha256,
    http_host,
    http_path,
    http_user_agent,
    tls_ja3,
    tls_ja4,
    tls_sni,
    ssh_hassh,
    asn,
    organization,
    country,
    rdns
FROM observations;
