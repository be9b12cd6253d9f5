-- What the holder of a feed's token was last told of the feed, so that its next answer has what changed since then.
CREATE TABLE IF NOT EXISTS feed_streams
(
    token_id    String,
    revision    UUID,
    answered_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(answered_at)
ORDER BY token_id
TTL toDateTime(answered_at, 'UTC') + toIntervalDay(90);
