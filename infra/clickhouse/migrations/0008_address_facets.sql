-- The last time that each address was seen with each value of each field that a search names: which addresses had a value
-- is one range of the key, in the order of the addresses. Under the field `seen`, whose value is empty, every address.
--
-- Texts are in lower case, since the search compares in any case. Numbers have all their digits, so that those that follow
-- each other are one range: a port is `00023/tcp`, a network `0000064500 Example Hosting`.
-- Fields of a few values each, such as methods and sensors, have no rows: a search reads them from the observations.
-- An observation's values become rows as they are, and merges make one of those that are alike: to find them in each
-- insert takes longer. Parts a day old become one, so that a search reads an address once for each of its values.
-- The codecs halve what a row takes: addresses of a value ascend, and times of a retention share their upper bits.
CREATE TABLE IF NOT EXISTS address_facets
(
    dataset      LowCardinality(String),
    workspace_id LowCardinality(String),
    field        LowCardinality(String),
    value        String,
    source_ip    IPv4 CODEC(Delta(4), ZSTD(1)),
    last_seen    SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(T64)
)
ENGINE = AggregatingMergeTree
ORDER BY (dataset, workspace_id, field, value, source_ip)
TTL toDateTime(last_seen, 'UTC') + toIntervalDay(100)
SETTINGS non_replicated_deduplication_window = 1000, min_age_to_force_merge_seconds = 86400;

-- The values of a field are those of FACETS in libs/clickhouse/facets/facets.ts.
CREATE MATERIALIZED VIEW IF NOT EXISTS address_facets_mv TO address_facets AS
SELECT
    dataset,
    workspace_id,
    field,
    arrayJoin(texts) AS value,
    source_ip,
    observed_at AS last_seen
FROM observations
ARRAY JOIN
    ['seen', 'tag', 'network', 'port', 'username', 'password', 'credential', 'command', 'url', 'sha256', 'host',
        'path', 'user_agent', 'ja3', 'ja4', 'sni', 'hassh', 'country', 'rdns'] AS field,
    [
        [''],
        arrayConcat(arrayMap(tag -> toString(tag), tags),
            if((transport = 'tcp' AND (login_attempts > 0 OR notEmpty(credentials) OR notEmpty(commands) OR notEmpty(urls)
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
        if(rdns = '', [], [lowerUTF8(rdns)])
    ] AS texts;
