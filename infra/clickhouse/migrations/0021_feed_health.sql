-- A feed may keep its addresses for an hour when its list falls. `kept` of those that it lists are no longer found.
ALTER TABLE feeds ADD COLUMN IF NOT EXISTS keeps_fallen Bool AFTER is_guarded;

-- The fall that a list is marked with: how many addresses it had before, and when it fell; 0 and 1970 without one.
ALTER TABLE feed_refreshes
    ADD COLUMN IF NOT EXISTS kept UInt32,
    ADD COLUMN IF NOT EXISTS fell_from UInt32,
    ADD COLUMN IF NOT EXISTS fell_at DateTime64(3, 'UTC');

-- Addresses of which observations were removed: a feed keeps none of them.
CREATE TABLE IF NOT EXISTS removed_addresses
(
    addresses  Array(UInt32),
    removed_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY removed_at
TTL toDateTime(removed_at, 'UTC') + toIntervalDay(1);

-- When feeds' tokens were used: a row every few minutes that a process sees one used.
CREATE TABLE IF NOT EXISTS feed_token_uses
(
    token_id String,
    used_at  SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
    times    SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY token_id
TTL toDateTime(used_at, 'UTC') + toIntervalDay(90);
