-- The tag catalogue. The newest row of an id is the tag. intention is ordered by severity: the worst of several is max().
CREATE TABLE IF NOT EXISTS tags
(
    id              UUID,
    label           String,
    slug            String,
    name            String,
    category        LowCardinality(String),
    intention       Enum8('benign' = 0, 'unknown' = 1, 'suspicious' = 2, 'malicious' = 3),
    description     String,
    references      Array(String),
    recommend_block Bool,
    cves            Array(String),
    created_at      Date32,
    related         Array(UUID),
    is_deleted      Bool,
    updated_at      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at, is_deleted)
ORDER BY id;

-- What the rule of a tag matches, as its file has it: YAML, for people to read. The intake writes it when it reads the
-- rules. The newest row of a slug counts.
CREATE TABLE IF NOT EXISTS tag_rules
(
    slug       String,
    rule       String CODEC(ZSTD(1)),
    is_deleted Bool,
    updated_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at, is_deleted)
ORDER BY slug;
