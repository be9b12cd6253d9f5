-- A verdict is never older than its letter, so one that lives as long outlives it.
ALTER TABLE dead_letter_verdicts MODIFY TTL toDateTime(judged_at, 'UTC') + toIntervalDay(100)
