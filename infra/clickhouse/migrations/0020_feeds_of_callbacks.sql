-- Feeds of the hosts that visitors told sensors to call: addresses and names.
ALTER TABLE feeds ADD COLUMN IF NOT EXISTS subject LowCardinality(String) DEFAULT 'visitors' AFTER name;

-- Names have no versions. They are in ascending order, as addresses are.
ALTER TABLE feed_refreshes
    ADD COLUMN IF NOT EXISTS added_names Array(String) CODEC(ZSTD(1)) AFTER renewed,
    ADD COLUMN IF NOT EXISTS removed_names Array(String) CODEC(ZSTD(1)) AFTER added_names,
    ADD COLUMN IF NOT EXISTS names Array(String) CODEC(ZSTD(1)) AFTER versions,
    ADD COLUMN IF NOT EXISTS held_back UInt32 AFTER guarded;
