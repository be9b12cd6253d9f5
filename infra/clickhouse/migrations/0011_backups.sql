-- When and where a backup was made that could be read back.
CREATE TABLE IF NOT EXISTS backups
(
    made_at DateTime64(3, 'UTC'),
    place   String,
    bytes   UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY made_at;
