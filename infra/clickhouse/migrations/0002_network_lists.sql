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
ORDER BY (kind, list_id)
