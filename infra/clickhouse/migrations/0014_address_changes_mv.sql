CREATE MATERIALIZED VIEW IF NOT EXISTS address_changes_mv TO address_changes AS
SELECT
    source_ip,
    arrayJoin(arrayPushBack(tags, toUUID('00000000-0000-0000-0000-000000000000'))) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
WHERE dataset = 'global'
GROUP BY source_ip, tag_id
