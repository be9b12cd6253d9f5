-- Distinct addresses by day (UTC) and scope, whatever their tags.
CREATE VIEW IF NOT EXISTS addresses_daily SQL SECURITY INVOKER AS
SELECT toDate(hour, 'UTC') AS day, dataset, workspace_id, uniqExactMerge(addresses) AS addresses
FROM tag_activity_hourly
WHERE tag_id = toUUID('00000000-0000-0000-0000-000000000000')
GROUP BY day, dataset, workspace_id
