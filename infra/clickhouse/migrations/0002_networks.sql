-- Published lists of networks: benign services (riot) and known benign scan operators (actors). The newest generation of a list is the list.
CREATE TABLE IF NOT EXISTS network_lists
(
    kind          Enum8('service' = 1, 'actor' = 2),
    list_id       String,
    generation    UInt64,
    name          String,
    category      LowCardinality(String),
    description   String,
    explanation   String,
    reference     String,
    trust_level   LowCardinality(String),
    priority      Int32,
    networks      UInt32,
    refreshed_at  DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY (kind, list_id);

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
ORDER BY (kind, list_id, generation, first, length);

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
SETTINGS index_granularity = 1024;

-- The generation of network_ranges that answers: one row inserted after the ranges switches every reader.
CREATE TABLE IF NOT EXISTS network_generations
(
    kind       Enum8('service' = 1, 'actor' = 2),
    generation UInt64
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY kind;
