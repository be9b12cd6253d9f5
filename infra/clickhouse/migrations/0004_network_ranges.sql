-- All lists of a kind flattened into disjoint ranges, longest prefix first: an address is looked up with one ASOF join.
CREATE TABLE IF NOT EXISTS network_ranges
(
    kind       Enum8('service' = 1, 'actor' = 2),
    generation UInt64,
    first      UInt32,
    last       UInt32,
    list_id    LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY (kind, generation)
ORDER BY first
SETTINGS index_granularity = 1024
