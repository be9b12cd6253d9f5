-- How many records of each sensor had which outcome, by the hour in which the intake handled them. A process counts for
-- itself and writes its count so far: the largest is the count, so that a row that is written twice changes nothing.
-- sensor_id is empty for records that name none. is_rest stands for the sensors beyond those that are counted by name.
-- workspace_id says whose personal data they are; it is empty for shared datasets, and for records that were rejected
-- before it was known.
CREATE TABLE IF NOT EXISTS sensor_activity
(
    hour         DateTime('UTC'),
    source       LowCardinality(String),
    key_id       LowCardinality(String),
    workspace_id LowCardinality(String),
    sensor_id    String,
    is_rest      Bool,
    format       LowCardinality(String),
    outcome      LowCardinality(String),
    process      UUID,
    records      SimpleAggregateFunction(max, UInt64),
    last_at      SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
PARTITION BY toMonday(hour)
ORDER BY (hour, source, key_id, workspace_id, sensor_id, is_rest, format, outcome, process)
TTL hour + toIntervalHour(1) + toIntervalDay(100);

-- How many messages of a Kafka topic the intake had still to read when one of its processes last looked.
CREATE TABLE IF NOT EXISTS consumer_lag
(
    topic      String,
    messages   UInt64,
    updated_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY topic;

-- Requests of the HTTP intake by a digest of their sender and body, so that one that is sent again after a failure is
-- told from another one with the same content. answered says how many of that content were answered: the next one has
-- this number. began_at is when that one came first, if records of it have no time of their own; else 1970.
CREATE TABLE IF NOT EXISTS intake_requests
(
    digest     UInt64,
    answered   UInt32,
    began_at   DateTime64(3, 'UTC'),
    updated_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY digest
TTL toDateTime(updated_at, 'UTC') + toIntervalDay(100);
