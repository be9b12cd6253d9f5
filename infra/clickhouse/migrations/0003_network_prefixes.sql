-- The networks of each list as imported; only those of the list's current generation count.
CREATE TABLE IF NOT EXISTS network_prefixes
(
    kind       Enum8('service' = 1, 'actor' = 2),
    list_id    String,
    generation UInt64,
    first      UInt32,
    length     UInt8
)
ENGINE = ReplacingMergeTree
ORDER BY (kind, list_id, generation, first, length)
