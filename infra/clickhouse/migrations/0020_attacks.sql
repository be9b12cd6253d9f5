-- Rollups of tags have under a tag of its own when an address last attacked: when the sensor saw a login, a command, a
-- download or a payload over TCP. Who attacked is not benign, so a lookup reads this with the tags.
ALTER TABLE address_tags_mv MODIFY QUERY
SELECT
    source_ip,
    dataset,
    workspace_id,
    arrayJoin(arrayConcat(tags, [toUUID('00000000-0000-0000-0000-000000000000')],
        if(transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
            OR notEmpty(payload_sha256)), [toUUID('00000000-0000-0000-0000-000000000001')], []))) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
GROUP BY source_ip, dataset, workspace_id, tag_id;

ALTER TABLE address_changes_mv MODIFY QUERY
SELECT
    source_ip,
    arrayJoin(arrayConcat(tags, [toUUID('00000000-0000-0000-0000-000000000000')],
        if(transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
            OR notEmpty(payload_sha256)), [toUUID('00000000-0000-0000-0000-000000000001')], []))) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
WHERE dataset = 'global'
GROUP BY source_ip, tag_id;

ALTER TABLE scope_tags_mv MODIFY QUERY
SELECT
    dataset,
    workspace_id,
    arrayJoin(arrayConcat(tags, [toUUID('00000000-0000-0000-0000-000000000000')],
        if(transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
            OR notEmpty(payload_sha256)), [toUUID('00000000-0000-0000-0000-000000000001')], []))) AS tag_id,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
GROUP BY dataset, workspace_id, tag_id, source_ip;

-- What a database has already; the views fill in what comes from now on. A row of both counts once. An interrupted
-- migration runs again.
INSERT INTO address_tags (source_ip, dataset, workspace_id, tag_id, last_seen)
SELECT source_ip, dataset, workspace_id, toUUID('00000000-0000-0000-0000-000000000001'), observed_at
FROM observations
WHERE transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
    OR notEmpty(payload_sha256));

INSERT INTO scope_tags (dataset, workspace_id, tag_id, source_ip, last_seen)
SELECT dataset, workspace_id, tag_id, source_ip, last_seen FROM address_tags
WHERE tag_id = toUUID('00000000-0000-0000-0000-000000000001');
