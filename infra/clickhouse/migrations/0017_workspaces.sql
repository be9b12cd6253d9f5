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
ORDER BY workspace_id
