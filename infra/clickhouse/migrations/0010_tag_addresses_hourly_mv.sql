CREATE MATERIALIZED VIEW IF NOT EXISTS tag_addresses_hourly_mv TO tag_addresses_hourly AS
SELECT DISTINCT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    toStartOfHour(observed_at, 'UTC') AS hour,
    source_ip
FROM observations
