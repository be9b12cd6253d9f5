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

-- What opens something, by the SHA-256 of its secret in hex: the secret itself is shown once, and stored nowhere. A
-- workspace's key opens the API. A sensor's fixes where it publishes: a dataset, and for personal data the one workspace
-- whose data it is (else empty); its subject is the one sensor that may use it, empty for any. A feed's token opens the
-- feed that is its subject. Another kind, open-intake, has no secret: the intake is open while it is not revoked.
-- The user of the query service may write every column but the kind and the dataset: it makes tokens of feeds alone.
CREATE TABLE IF NOT EXISTS credentials
(
    kind         LowCardinality(String) DEFAULT 'feed',
    id           String,
    workspace_id String,
    dataset      LowCardinality(String) DEFAULT 'global',
    subject      String,
    label        String,
    sha256       String,
    created_at   DateTime64(3, 'UTC'),
    is_revoked   Bool,
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY (kind, id);
