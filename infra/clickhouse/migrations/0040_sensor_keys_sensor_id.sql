-- The one sensor that a key was made for; empty for a key that may send for any sensor.
ALTER TABLE sensor_keys ADD COLUMN IF NOT EXISTS sensor_id String DEFAULT '' AFTER workspace_id
