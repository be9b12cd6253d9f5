-- What has just been added to address_tags in the global dataset, for the processes that keep it in memory. They read on
-- from the last block they have seen: a block gets its number when it becomes visible, so none can appear behind it.
CREATE TABLE IF NOT EXISTS address_changes
(
    stored_at DateTime('UTC') DEFAULT now(),
    source_ip IPv4,
    tag_id    UUID,
    last_seen DateTime64(3, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toStartOfFiveMinutes(stored_at)
ORDER BY source_ip
TTL stored_at + toIntervalMinute(15)
SETTINGS enable_block_number_column = 1, ttl_only_drop_parts = 1
