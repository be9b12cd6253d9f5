-- What became of dead letters that were tried again; the newest row of a letter is its verdict. The letters themselves
-- stay where they are: a topic's cannot be taken out. topic is empty for letters of the table dead_letters. written_at is
-- the time of a topic's message: a topic made anew gives out its offsets once more.
CREATE TABLE IF NOT EXISTS dead_letter_verdicts
(
    topic      LowCardinality(String),
    letter     String,
    written_at DateTime64(3, 'UTC'),
    judged_at  DateTime64(3, 'UTC'),
    is_done    Bool,
    reason     LowCardinality(String),
    detail     String
)
ENGINE = ReplacingMergeTree(judged_at)
ORDER BY (topic, letter, written_at)
