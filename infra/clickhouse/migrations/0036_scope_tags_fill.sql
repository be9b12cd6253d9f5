-- What a database has that was made without the table. Its view fills in what comes from now on; a row of both counts once.
INSERT INTO scope_tags (dataset, workspace_id, tag_id, source_ip, last_seen)
SELECT dataset, workspace_id, tag_id, source_ip, last_seen
FROM address_tags
WHERE dataset != 'global' AND tag_id != toUUID('00000000-0000-0000-0000-000000000000')
