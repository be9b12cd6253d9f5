-- Files that the intake follows, and how far each is stored. A row is a content: a file that is truncated and written anew
-- is another one. device and inode are empty once the content no longer lies there; its rotated copy is known by the digest
-- of its first bytes. resume is JSON: what a later process needs to read on from the position.
CREATE TABLE IF NOT EXISTS followed_files
(
    id             String,
    path           String,
    sensor         String,
    format         LowCardinality(String),
    device         String,
    inode          String,
    head_bytes     UInt32,
    head           String,
    size           UInt64,
    is_packed      Bool,
    position       UInt64,
    resume         String,
    state          LowCardinality(String),
    detail         String,
    last_record_at DateTime64(3, 'UTC'),
    modified_at    DateTime64(3, 'UTC'),
    updated_at     DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY id
TTL toDateTime(updated_at, 'UTC') + toIntervalDay(100);
