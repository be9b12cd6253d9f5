-- Records by sensor, hour and outcome: accepted, ignored or the reason of a rejection.
CREATE VIEW IF NOT EXISTS sensors_hourly SQL SECURITY INVOKER AS
SELECT hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, sum(counted) AS records, max(last) AS last_at
FROM
(
    SELECT hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, max(records) AS counted, max(last_at) AS last
    FROM sensor_activity
    GROUP BY hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, process
)
GROUP BY hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome
