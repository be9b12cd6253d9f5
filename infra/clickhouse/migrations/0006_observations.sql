-- Raw observations. A redelivered one has the same sorting key and is replaced by itself.
-- An insert that is tried again because its answer was lost is known by its token, here and in each rollup.
-- The fine index and small compressed blocks serve questions about some hundred addresses, whose rows lie far apart:
-- they take a third of the time and 3 % more of the disk.
-- A question about an address reads a range of each column in each part. So partitions are months (with weeks, the details of
-- 2,500 addresses took twice as long), and a day after its last row came, a month is merged into one part. The month whose
-- rows expire is written anew once a day.
-- Parts of up to some 400,000 rows have all columns in one file: a file for each, some hundred of them, made merges of the
-- intake's parts so slow that it stored 7 % less.
-- Of the tags, rule_tags names those that tagging rules gave and shared_tags those of them that the sender named, too; the
-- sender gave all others. session_parts holds digests of the records that a session's row is made of, so that none is
-- added twice.
-- The TTL here is the default retention; the service sets it from RETENTION_DAYS at start.
CREATE TABLE IF NOT EXISTS observations
(
    observation_id   String,
    observed_at      DateTime64(3, 'UTC'),
    received_at      DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    dataset          LowCardinality(String),
    workspace_id     LowCardinality(String),
    sensor_id        LowCardinality(String),
    source_ip        IPv4,
    source_port      Nullable(UInt16),
    destination_port Nullable(UInt16),
    transport        LowCardinality(String),
    tags             Array(UUID),
    rule_tags        Array(UUID),
    shared_tags      Array(UUID),
    labels           Array(LowCardinality(String)),
    application      LowCardinality(String),
    session_id       String,
    session_parts    Array(UInt64),
    credentials      Array(Tuple(username String, password String)),
    login_attempts   UInt32,
    commands         Array(String),
    urls             Array(String),
    payload_sha256   Array(String),
    http_method      LowCardinality(String),
    http_host        String,
    http_path        String,
    http_query       String,
    http_user_agent  String,
    http_referer     String,
    http_headers     Array(LowCardinality(String)),
    http_cookies     Array(LowCardinality(String)),
    http_header_lines Array(String),
    http_body_head   String,
    http_body_sha256 String,
    tls_ja3          String,
    tls_ja4          String,
    ssh_hassh        String,
    ssh_banner       String,
    asn              UInt32,
    organization     LowCardinality(String),
    country          LowCardinality(String),
    region           LowCardinality(String),
    city             LowCardinality(String),
    latitude         Float32,
    longitude        Float32,
    rdns             String,
    rdns_validated   Bool,
    metadata         String
)
ENGINE = ReplacingMergeTree(received_at)
PARTITION BY toStartOfMonth(observed_at)
ORDER BY (source_ip, dataset, workspace_id, observed_at, sensor_id, observation_id)
TTL toDateTime(observed_at, 'UTC') + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, index_granularity = 1024, min_compress_block_size = 8192,
    min_bytes_for_wide_part = 134217728,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400
