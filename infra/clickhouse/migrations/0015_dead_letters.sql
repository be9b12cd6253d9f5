-- Records that came over HTTP or from files and were refused, with the bytes as they came. payload_base64 is how they get in.
CREATE TABLE IF NOT EXISTS dead_letters
(
    received_at    DateTime64(3, 'UTC'),
    source         LowCardinality(String),
    origin         String,
    position       UInt64,
    reason         LowCardinality(String),
    detail         String,
    payload_base64 String EPHEMERAL,
    payload        String DEFAULT base64Decode(payload_base64)
)
ENGINE = ReplacingMergeTree(received_at)
PARTITION BY toMonday(received_at)
ORDER BY (source, origin, position, reason, cityHash64(payload))
TTL toDateTime(received_at, 'UTC') + toIntervalDay(100)
