-- Raw observations, from which the views of the files after this one fill the rollups.
--
-- The law of the rollups: a rollup keeps only states that do not change when the same row comes twice (uniqExact, min,
-- max, sets, bits). Delivery is at least once and a crash changes where batches begin and end, so the same observation
-- may be inserted again. A rollup reads nothing but the inserted rows: a restore fills it anew from the observations.
--
-- A redelivered observation has the same sorting key and is replaced by itself. An insert that is sent again because its
-- answer was lost is known by its token, here and in each rollup (non_replicated_deduplication_window).
-- The fine index and the small compressed blocks serve questions about some hundred addresses, whose rows lie far apart.
-- A question about an address reads a range of each column in each part. So partitions are months, and a month is merged
-- into one part a day after its last row came. The month whose rows expire is rewritten once a day.
-- Parts below 128 MiB keep all columns in one file: one file a column, some hundred of them, slows the intake's merges.
-- The TTL here is the default retention; the service sets it from RETENTION_DAYS at start.
CREATE TABLE IF NOT EXISTS observations
(
    observation_id   String,
    observed_at      DateTime64(3, 'UTC'),
    received_at      DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    dataset          LowCardinality(String),
    workspace_id     LowCardinality(String),
    sensor_id        LowCardinality(String),
    -- The log format of the record that it came in, or that a session's row was last made of.
    format           LowCardinality(String),
    source_ip        IPv4,
    source_port      Nullable(UInt16),
    destination_port Nullable(UInt16),
    transport        LowCardinality(String),
    tags             Array(UUID),
    -- Those that tagging rules gave; the sender gave all others.
    rule_tags        Array(UUID),
    -- Those of rule_tags that the sender named, too.
    shared_tags      Array(UUID),
    labels           Array(LowCardinality(String)),
    application      LowCardinality(String),
    session_id       String,
    -- Digests of the records that a session's row is made of, so that none is added twice.
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
    tls_sni          String,
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
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1, merge_with_ttl_timeout = 86400;
