-- Feeds of the hosts that visitors told sensors to call: addresses and names.
ALTER TABLE feeds ADD COLUMN IF NOT EXISTS subject LowCardinality(String) DEFAULT 'visitors' AFTER name;

-- Names have no versions. They are in ascending order, as addresses are.
ALTER TABLE feed_refreshes
    ADD COLUMN IF NOT EXISTS added_names Array(String) CODEC(ZSTD(1)) AFTER renewed,
    ADD COLUMN IF NOT EXISTS removed_names Array(String) CODEC(ZSTD(1)) AFTER added_names,
    ADD COLUMN IF NOT EXISTS names Array(String) CODEC(ZSTD(1)) AFTER versions,
    ADD COLUMN IF NOT EXISTS held_back UInt32 AFTER guarded;

-- A forged packet may name any host: lists have those alone that a visitor named whose contact the same observation proves.
ALTER TABLE callbacks
    ADD COLUMN IF NOT EXISTS established Bool,
    MODIFY ORDER BY (dataset, workspace_id, host, hour, source_ip, port, scheme, path, text, sha256, established);

ALTER TABLE callbacks_mv MODIFY QUERY
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
