-- When each address of a scope was last seen with each of its tags.
CREATE VIEW IF NOT EXISTS address_tags_seen SQL SECURITY INVOKER AS
SELECT address.source_ip AS source_ip, address.dataset AS dataset, address.workspace_id AS workspace_id,
    address.tag_id AS tag_id, catalogue.tag AS tag, catalogue.name AS name, catalogue.category AS category,
    catalogue.intention AS intention, address.seen AS last_seen
FROM
(
    SELECT source_ip, dataset, workspace_id, toUUID(tag_id) AS tag_id, max(last_seen) AS seen
    FROM address_tags
    WHERE tag_id != toUUID('00000000-0000-0000-0000-000000000000')
    GROUP BY source_ip, dataset, workspace_id, tag_id
) AS address
LEFT JOIN tag_catalogue AS catalogue ON catalogue.tag_id = address.tag_id
