-- Grouped, not DISTINCT: a restore runs this over whole weeks, and only a GROUP BY can spill to the disk.
CREATE MATERIALIZED VIEW IF NOT EXISTS tag_addresses_hourly_mv TO tag_addresses_hourly AS
SELECT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    toStartOfHour(observed_at, 'UTC') AS hour,
    source_ip
FROM observations
GROUP BY tag_id, dataset, workspace_id, hour, source_ip
