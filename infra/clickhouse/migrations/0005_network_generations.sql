-- Which generation of network_ranges answers: one row inserted after the ranges switches all readers at once.
CREATE TABLE IF NOT EXISTS network_generations
(
    kind       Enum8('service' = 1, 'actor' = 2),
    generation UInt64
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY kind
