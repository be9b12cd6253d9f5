-- Distinct addresses by hour and scope, whatever their tags.
CREATE VIEW IF NOT EXISTS addresses_hourly SQL SECURITY INVOKER AS
SELECT hour, dataset, workspace_id, uniqExactMerge(addresses) AS addresses
FROM tag_activity_hourly
WHERE tag_id = toUUID('00000000-0000-0000-0000-000000000000')
GROUP BY hour, dataset, workspace_id
