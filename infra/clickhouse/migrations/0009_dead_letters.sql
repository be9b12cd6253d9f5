-- Records that could not be stored, from every source: their bytes, why, and what a retry needs to validate them again.
-- origin and position say where a record was: the request, the digest of a file's line, or topic/partition/offset.
-- payload and kafka_key may be cut; payload_bytes and kafka_key_bytes say how long they were. JSON cannot spell bytes, so
-- they are inserted as base64.
CREATE TABLE IF NOT EXISTS dead_letters
(
    received_at      DateTime64(3, 'UTC'),
    source           LowCardinality(String),
    origin           String,
    position         UInt64,
    reason           LowCardinality(String),
    detail           String,
    payload_base64   String EPHEMERAL,
    payload          String DEFAULT base64Decode(payload_base64) CODEC(ZSTD(1)),
    payload_bytes    UInt64,
    kept_bytes       UInt64 DEFAULT length(payload),
    -- The observation that was read out of a file's line or of a sensor's own record, as JSON; else empty.
    value            String DEFAULT '' CODEC(ZSTD(1)),
    publish_right    LowCardinality(String),
    key_id           LowCardinality(String) DEFAULT '',
    key_sensor_id    LowCardinality(String) DEFAULT '',
    -- The sensor that the record names, else the key's.
    sensor_id        String DEFAULT '',
    kafka_topic      LowCardinality(String) DEFAULT '',
    kafka_partition  Int32 DEFAULT -1,
    kafka_offset     Int64 DEFAULT -1,
    kafka_key_base64 String EPHEMERAL,
    kafka_key        String DEFAULT base64Decode(kafka_key_base64),
    kafka_key_bytes  UInt32 DEFAULT 0,
    kafka_headers    Map(String, String),
    -- hex leaves out leading zeros.
    id               String DEFAULT leftPad(lower(hex(sipHash64(source, origin, position, payload))), 16, '0')
)
ENGINE = ReplacingMergeTree(received_at)
PARTITION BY toMonday(received_at)
ORDER BY (source, origin, position, id)
TTL toDateTime(received_at, 'UTC') + toIntervalDay(100);

-- The result of each dead letter's last retry. It is never older than its dead letter, so it outlives it.
CREATE TABLE IF NOT EXISTS dead_letter_retries
(
    id         String,
    retried_at DateTime64(3, 'UTC'),
    is_done    Bool,
    reason     LowCardinality(String),
    detail     String
)
ENGINE = ReplacingMergeTree(retried_at)
ORDER BY id
TTL toDateTime(retried_at, 'UTC') + toIntervalDay(100);
