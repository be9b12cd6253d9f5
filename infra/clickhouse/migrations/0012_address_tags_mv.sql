CREATE MATERIALIZED VIEW IF NOT EXISTS address_tags_mv TO address_tags AS
SELECT
    source_ip,
    dataset,
    workspace_id,
    arrayJoin(arrayPushBack(tags, toUUID('00000000-0000-0000-0000-000000000000'))) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
GROUP BY source_ip, dataset, workspace_id, tag_id
