-- Distinct addresses by hour, tag and scope. Counts of several hours or scopes do not add up: an address may be in each.
CREATE VIEW IF NOT EXISTS activity_hourly SQL SECURITY INVOKER AS
SELECT counted.hour AS hour, counted.dataset AS dataset, counted.workspace_id AS workspace_id, counted.tag_id AS tag_id,
    catalogue.tag AS tag, catalogue.name AS name, catalogue.category AS category, catalogue.intention AS intention,
    counted.addresses AS addresses
FROM
(
    SELECT hour, dataset, workspace_id, tag_id, uniqExactMerge(addresses) AS addresses
    FROM tag_activity_hourly
    WHERE tag_id != toUUID('00000000-0000-0000-0000-000000000000')
    GROUP BY hour, dataset, workspace_id, tag_id
) AS counted
LEFT JOIN tag_catalogue AS catalogue ON catalogue.tag_id = counted.tag_id
