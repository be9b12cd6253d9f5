CREATE MATERIALIZED VIEW IF NOT EXISTS tag_addresses_mv TO tag_addresses AS
SELECT
    arrayJoin(tags) AS tag_id,
    dataset,
    workspace_id,
    toDateTime(intDiv(toUnixTimestamp(observed_at), 64 * 3600) * 64 * 3600, 'UTC') AS start,
    source_ip,
    groupBitOr(bitShiftLeft(toUInt64(1), intDiv(toUnixTimestamp(observed_at), 3600) % 64)) AS hours
FROM observations
GROUP BY tag_id, dataset, workspace_id, start, source_ip
