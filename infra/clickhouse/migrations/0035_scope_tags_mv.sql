CREATE MATERIALIZED VIEW IF NOT EXISTS scope_tags_mv TO scope_tags AS
SELECT
    dataset,
    workspace_id,
    arrayJoin(tags) AS tag_id,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
WHERE dataset != 'global'
GROUP BY dataset, workspace_id, tag_id, source_ip
