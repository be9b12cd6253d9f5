-- What the rule of a tag matches, as its file has it: YAML, for people to read. The intake writes it when it reads the
-- rules. The newest row of a slug counts; an empty rule is that of a tag whose rule is gone.
CREATE TABLE IF NOT EXISTS tag_rules
(
    slug       String,
    rule       String CODEC(ZSTD(1)),
    updated_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY slug
