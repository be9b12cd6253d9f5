CREATE MATERIALIZED VIEW IF NOT EXISTS address_tags_mv TO address_tags AS
SELECT
    source_ip,
    dataset,
    workspace_id,
    arrayJoin(tags) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
GROUP BY source_ip, dataset, workspace_id, tag_id
