-- How many addresses a ready-made feed left out because they could be forged.
ALTER TABLE feed_refreshes ADD COLUMN IF NOT EXISTS left_out_spoofable UInt32 AFTER guarded;
