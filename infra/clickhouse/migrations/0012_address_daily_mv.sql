CREATE MATERIALIZED VIEW IF NOT EXISTS address_daily_mv TO address_daily AS
SELECT
    source_ip,
    dataset,
    workspace_id,
    toDate(observed_at, 'UTC') AS day,
    min(observed_at) AS first_seen,
    max(observed_at) AS last_seen
FROM observations
GROUP BY source_ip, dataset, workspace_id, day
