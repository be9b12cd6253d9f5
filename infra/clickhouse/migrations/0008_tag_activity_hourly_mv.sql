CREATE MATERIALIZED VIEW IF NOT EXISTS tag_activity_hourly_mv TO tag_activity_hourly AS
SELECT
    arrayJoin(arrayPushBack(tags, toUUID('00000000-0000-0000-0000-000000000000'))) AS tag_id,
    dataset,
    workspace_id,
    toStartOfHour(observed_at, 'UTC') AS hour,
    uniqExactState(source_ip) AS addresses
FROM observations
GROUP BY tag_id, dataset, workspace_id, hour
