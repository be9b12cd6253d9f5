-- Keys by their SHA-256 in hex: the key itself is shown once, when it is made, and stored nowhere.
CREATE TABLE IF NOT EXISTS api_keys
(
    key_id       String,
    workspace_id String,
    label        String,
    key_sha256   String,
    created_at   DateTime64(3, 'UTC'),
    is_revoked   Bool,
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY key_id
