-- Who may ask: a workspace has a plan and entitlements. The newest row of an id is the workspace.
CREATE TABLE IF NOT EXISTS workspaces
(
    workspace_id String,
    name         String,
    plan         LowCardinality(String),
    entitlements Array(LowCardinality(String)),
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY workspace_id;

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
ORDER BY key_id;

-- Keys of sensors, by their SHA-256 in hex. A key fixes where its sensor publishes: a dataset, and for personal data the
-- one workspace whose data it is (else empty). sensor_id is the one sensor that may use it, empty for any.
CREATE TABLE IF NOT EXISTS sensor_keys
(
    key_id       String,
    label        String,
    dataset      LowCardinality(String),
    workspace_id String,
    sensor_id    String,
    key_sha256   String,
    created_at   DateTime64(3, 'UTC'),
    is_revoked   Bool,
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY key_id;
