-- Hosts of code and files that a workspace knows beside those that come along: no list of callbacks has one of them. The
-- id is made of workspace and host, so that two processes that add one at the same time make one.
CREATE TABLE IF NOT EXISTS known_callback_hosts
(
    known_id     String,
    workspace_id String,
    host         String,
    note         String,
    is_deleted   Bool,
    created_at   DateTime64(3, 'UTC'),
    updated_at   DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at, is_deleted)
ORDER BY known_id;
