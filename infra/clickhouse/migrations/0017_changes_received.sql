-- What is stored again, with other tags, keeps the time at which it was received: readers of the log tell it from what is new.
ALTER TABLE observation_changes ADD COLUMN IF NOT EXISTS received_at DateTime64(3, 'UTC') AFTER observed_at;

ALTER TABLE observation_changes_mv MODIFY QUERY
SELECT
    dataset,
    workspace_id,
    source_ip,
    observed_at,
    received_at,
    destination_port,
    transport,
    tags,
    credentials,
    login_attempts,
    commands,
    urls,
    payload_sha256,
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
