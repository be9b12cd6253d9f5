-- The log format of the record that it came in, or that a session's row was last made of; empty in rows stored before.
ALTER TABLE observations ADD COLUMN IF NOT EXISTS format LowCardinality(String) AFTER sensor_id
