-- What a later retry needs to judge a letter as its first judge did: where its sender might write (publish_right), and
-- for a file's record the observation that was read out of it, as JSON (value). Empty in letters from before.
ALTER TABLE dead_letters
    ADD COLUMN IF NOT EXISTS publish_right LowCardinality(String) DEFAULT '',
    ADD COLUMN IF NOT EXISTS value String DEFAULT '' CODEC(ZSTD(1))
