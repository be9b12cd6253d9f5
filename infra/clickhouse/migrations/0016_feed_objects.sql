-- Addresses of feeds as objects of STIX and TAXII, each with its current version: the newest row of a feed and address.
-- A row has all that the object says, since the same version must always read the same. Versions of a feed get times in
-- the order in which they can be read, so that who asks for those after a time misses none. Written when they are asked for.
CREATE TABLE IF NOT EXISTS feed_objects
(
    feed_id        UUID,
    address        UInt32,
    object_id      UUID,
    -- When the address first became an object, of any feed.
    created_at     DateTime64(3, 'UTC'),
    modified_at    DateTime64(3, 'UTC'),
    first_seen     DateTime('UTC'),
    last_seen      DateTime('UTC'),
    valid_until    DateTime('UTC'),
    classification Enum8('benign' = 0, 'unknown' = 1, 'suspicious' = 2, 'malicious' = 3),
    tags           Array(LowCardinality(String)),
    -- Whether it has left the feed.
    is_revoked     Bool
)
ENGINE = ReplacingMergeTree(modified_at)
ORDER BY (feed_id, address)
TTL toDateTime(modified_at, 'UTC') + toIntervalDay(90) DELETE WHERE is_revoked;
