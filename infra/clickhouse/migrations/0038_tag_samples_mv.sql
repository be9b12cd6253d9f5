CREATE MATERIALIZED VIEW IF NOT EXISTS tag_samples_mv TO tag_samples AS
SELECT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    roundDown(intHash32(toUInt32(source_ip)), [
        0, 4194304, 8388608, 16777216, 33554432, 50331648, 67108864, 100663296, 134217728, 201326592, 268435456, 402653184,
        536870912, 805306368, 1073741824, 2147483648
    ]) AS hash_from,
    toStartOfHour(observed_at, 'UTC') AS hour,
    groupUniqArray(source_ip) AS addresses
FROM observations
GROUP BY tag_id, dataset, workspace_id, hash_from, hour
