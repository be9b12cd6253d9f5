-- What the search reads as one range of a key, in the order of the addresses: those of a tag, those of a country, and all
-- that were seen. scope_tags gets the rows of the global dataset, too, and under the nil tag when an address was last seen.
ALTER TABLE scope_tags_mv MODIFY QUERY
SELECT
    dataset,
    workspace_id,
    arrayJoin(arrayPushBack(tags, toUUID('00000000-0000-0000-0000-000000000000'))) AS tag_id,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
GROUP BY dataset, workspace_id, tag_id, source_ip;

ALTER TABLE address_values MODIFY COLUMN field Enum8('port' = 1, 'path' = 2, 'user_agent' = 3, 'host' = 4, 'ja3' = 5, 'ja4' = 6, 'hassh' = 7, 'rdns' = 8, 'country' = 9);

ALTER TABLE address_values_mv MODIFY QUERY
SELECT
    dataset,
    workspace_id,
    field,
    lowerUTF8(text) AS value,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
ARRAY JOIN
    [
        if(isNull(destination_port), '', concat(leftPad(toString(assumeNotNull(destination_port)), 5, '0'), '/', transport)),
        http_path, http_user_agent, http_host, tls_ja3, tls_ja4, ssh_hassh, rdns, country
    ] AS text,
    [1, 2, 3, 4, 5, 6, 7, 8, 9] AS field
WHERE text != ''
GROUP BY dataset, workspace_id, field, value, source_ip;

-- What a database has already; the views fill in what comes from now on. A row of both counts once.
INSERT INTO scope_tags (dataset, workspace_id, tag_id, source_ip, last_seen)
SELECT dataset, workspace_id, tag_id, source_ip, last_seen FROM address_tags;

INSERT INTO address_values (dataset, workspace_id, field, value, source_ip, last_seen)
SELECT dataset, workspace_id, 'country', lowerUTF8(country), source_ip, last_seen FROM address_networks WHERE country != '';
