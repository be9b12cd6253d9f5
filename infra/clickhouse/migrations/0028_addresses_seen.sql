-- Each address of a scope, when it was seen last and its classification there. severity makes one classification of
-- several scopes, by max(): -1 a known benign operator's, 0 without tags, 1 benign, 2 unknown, 3 suspicious, 4 malicious.
CREATE VIEW IF NOT EXISTS addresses_seen SQL SECURITY INVOKER AS
SELECT address.source_ip AS source_ip, address.dataset AS dataset, address.workspace_id AS workspace_id,
    address.seen AS last_seen,
    if(toUInt32(address.source_ip) <= actor.last, -1, address.worst) AS severity,
    ['benign', 'unknown', 'benign', 'unknown', 'suspicious', 'malicious'][severity + 2] AS classification
FROM
(
    SELECT 1 AS one, source_ip, dataset, workspace_id, max(last_seen) AS seen, max(toInt8(multiIf(
        tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'malicious'), 4,
        tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'suspicious'), 3,
        tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'unknown'), 2,
        tag_id IN (SELECT id FROM tags FINAL WHERE intention = 'benign'), 1, 0))) AS worst
    FROM address_tags
    GROUP BY source_ip, dataset, workspace_id
) AS address
ASOF LEFT JOIN
(
    SELECT 1 AS one, first, last FROM network_ranges
    WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'actor')
) AS actor ON actor.one = address.one AND toUInt32(address.source_ip) >= actor.first
