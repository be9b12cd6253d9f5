CREATE MATERIALIZED VIEW IF NOT EXISTS tag_activity_hourly_mv TO tag_activity_hourly AS
SELECT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    toStartOfHour(observed_at, 'UTC') AS hour,
    uniqExactState(source_ip) AS addresses
FROM observations
GROUP BY tag_id, dataset, workspace_id, hour
