-- Whether an observation proves that its source receives what is sent to it, and whom it told the sensor to call.
--
-- Rows of before have what their columns prove: a login, a command, a request, a banner or a TLS hello over TCP.
ALTER TABLE observations
    ADD COLUMN IF NOT EXISTS established Bool DEFAULT transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials)
        OR notEmpty(commands) OR notEmpty(urls) OR notEmpty(payload_sha256) OR http_method != '' OR http_host != ''
        OR http_path != '' OR http_user_agent != '' OR tls_ja3 != '' OR tls_ja4 != '' OR tls_sni != ''
        OR ssh_hassh != '' OR ssh_banner != '') AFTER transport,
    ADD COLUMN IF NOT EXISTS callbacks Array(Tuple(host String, port UInt16, scheme String, path String, text String, sha256 String))
        AFTER payload_sha256;

ALTER TABLE observation_changes
    ADD COLUMN IF NOT EXISTS established Bool AFTER transport,
    ADD COLUMN IF NOT EXISTS callbacks Array(Tuple(host String, port UInt16, scheme String, path String, text String, sha256 String))
        AFTER payload_sha256;

ALTER TABLE observation_changes_mv MODIFY QUERY
SELECT
    dataset,
    workspace_id,
    source_ip,
    observed_at,
    received_at,
    destination_port,
    transport,
    established,
    tags,
    credentials,
    login_attempts,
    commands,
    urls,
    payload_sha256,
    callbacks,
    http_host,
    http_path,
    http_user_agent,
    tls_ja3,
    tls_ja4,
    tls_sni,
    ssh_hassh,
    asn,
    organization,
    country,
    rdns
FROM observations;

-- A third tag of its own says when an address was last proven to be in contact; only then did it attack.
-- Fill address_tags.
ALTER TABLE address_tags_mv MODIFY QUERY
SELECT
    source_ip,
    dataset,
    workspace_id,
    arrayJoin(arrayConcat(tags, [toUUID('00000000-0000-0000-0000-000000000000')],
        if(established AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
            OR notEmpty(payload_sha256)), [toUUID('00000000-0000-0000-0000-000000000001')], []),
        if(established, [toUUID('00000000-0000-0000-0000-000000000002')], []))) AS tag_id,
    max(observed_at) AS last_seen
FROM observations
GROUP BY source_ip, dataset, workspace_id, tag_id;

-- Under the field `contact`, whose value is empty, are the addresses that were proven to be in contact.
-- Fill address_facets.
ALTER TABLE address_facets_mv MODIFY QUERY
SELECT
    dataset,
    workspace_id,
    field,
    arrayJoin(texts) AS value,
    source_ip,
    observed_at AS last_seen
FROM observations
ARRAY JOIN
    ['seen', 'contact', 'tag', 'network', 'port', 'username', 'password', 'credential', 'command', 'url', 'sha256', 'host',
        'path', 'user_agent', 'ja3', 'ja4', 'sni', 'hassh', 'country', 'rdns', 'callback'] AS field,
    [
        [''],
        if(established, [''], []),
        arrayConcat(arrayMap(tag -> toString(tag), tags),
            if((established AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
                OR notEmpty(payload_sha256))), ['00000000-0000-0000-0000-000000000001'], [])),
        if(asn = 0 AND organization = '', [], [concat(leftPad(toString(asn), 10, '0'), ' ', organization)]),
        if(isNull(destination_port), [],
            [concat(leftPad(toString(assumeNotNull(destination_port)), 5, '0'), '/', transport)]),
        arrayMap(login -> lowerUTF8(login.1), arrayFilter(login -> login.1 != '', credentials)),
        arrayMap(login -> lowerUTF8(login.2), arrayFilter(login -> login.2 != '', credentials)),
        arrayMap(login -> lowerUTF8(concat(login.1, '/', login.2)), arrayFilter(login -> login != ('', ''), credentials)),
        arrayMap(text -> lowerUTF8(text), arrayFilter(text -> text != '', commands)),
        arrayMap(text -> lowerUTF8(text), arrayFilter(text -> text != '', urls)),
        arrayMap(text -> lowerUTF8(text), arrayFilter(text -> text != '', payload_sha256)),
        if(http_host = '', [], [lowerUTF8(http_host)]),
        if(http_path = '', [], [lowerUTF8(http_path)]),
        if(http_user_agent = '', [], [lowerUTF8(http_user_agent)]),
        if(tls_ja3 = '', [], [lowerUTF8(tls_ja3)]),
        if(tls_ja4 = '', [], [lowerUTF8(tls_ja4)]),
        if(tls_sni = '', [], [lowerUTF8(tls_sni)]),
        if(ssh_hassh = '', [], [lowerUTF8(ssh_hassh)]),
        if(country = '', [], [lowerUTF8(country)]),
        if(rdns = '', [], [lowerUTF8(rdns)]),
        arrayMap(callback -> callback.1, callbacks)
    ] AS texts;

-- Who told sensors to call a host, in which words, and when: one row for each hour of the observations.
CREATE TABLE IF NOT EXISTS callbacks
(
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    host         String,
    hour         DateTime('UTC'),
    source_ip    IPv4,
    port         UInt16,
    scheme       LowCardinality(String),
    path         String,
    text         String CODEC(ZSTD(1)),
    sha256       String,
    -- A forged packet may name any host: lists have those alone that a visitor named whose contact the same observation proves.
    established  Bool,
    first_seen   SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
PRIMARY KEY (dataset, workspace_id, host, hour, source_ip)
ORDER BY (dataset, workspace_id, host, hour, source_ip, port, scheme, path, text, sha256, established)
TTL hour + toIntervalHour(1) + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS callbacks_mv TO callbacks AS
SELECT
    dataset,
    workspace_id,
    callback.host AS host,
    toStartOfHour(observed_at) AS hour,
    source_ip,
    callback.port AS port,
    callback.scheme AS scheme,
    callback.path AS path,
    callback.text AS text,
    callback.sha256 AS sha256,
    established,
    observed_at AS first_seen,
    observed_at AS last_seen
FROM observations
ARRAY JOIN callbacks AS callback;
