-- What visitors typed, fetched and left is searched: user names, passwords, logins (`root/admin`), commands, URLs, digests.
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
    ['seen', 'tag', 'network', 'port', 'username', 'password', 'credential', 'command', 'url', 'sha256', 'host',
        'path', 'user_agent', 'ja3', 'ja4', 'hassh', 'country', 'rdns'] AS field,
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
        if(ssh_hassh = '', [], [lowerUTF8(ssh_hassh)]),
        if(country = '', [], [lowerUTF8(country)]),
        if(rdns = '', [], [lowerUTF8(rdns)])
    ] AS texts;
