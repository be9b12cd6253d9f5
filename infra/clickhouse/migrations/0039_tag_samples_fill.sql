-- What a database has that was made without the table. Its view fills in what comes from now on; a row of both counts once.
-- One tag's block of 64 hours after the other, so that memory holds the addresses of one of these at a time.
INSERT INTO tag_samples (tag_id, dataset, workspace_id, hash_from, hour, addresses)
SELECT
    tag_id,
    dataset,
    workspace_id,
    roundDown(intHash32(toUInt32(source_ip)), [
        0, 4194304, 8388608, 16777216, 33554432, 50331648, 67108864, 100663296, 134217728, 201326592, 268435456, 402653184,
        536870912, 805306368, 1073741824, 2147483648
    ]) AS hash_from,
    start + toIntervalHour(arrayJoin(bitPositionsToArray(hours))) AS hour,
    groupUniqArray(source_ip) AS addresses
FROM tag_addresses
GROUP BY series, tag_id, dataset, workspace_id, start, hash_from, hour
SETTINGS optimize_aggregation_in_order = 1
