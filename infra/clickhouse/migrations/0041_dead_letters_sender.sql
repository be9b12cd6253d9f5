-- Whose key sent a letter's record, and the one sensor that key was made for: a retry judges and names it by them.
ALTER TABLE dead_letters
    ADD COLUMN IF NOT EXISTS key_id LowCardinality(String) DEFAULT '',
    ADD COLUMN IF NOT EXISTS key_sensor_id LowCardinality(String) DEFAULT ''
