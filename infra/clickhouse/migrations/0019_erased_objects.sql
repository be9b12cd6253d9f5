-- Of an address of which no observation is stored any more, an object says nothing but the address and whether it has left
-- its feed, without any times: consumers get it for a week.
ALTER TABLE feed_objects MODIFY TTL
    toDateTime(modified_at, 'UTC') + toIntervalDay(if(toUInt32(last_seen) = 0, 7, 90)) DELETE WHERE is_revoked OR toUInt32(last_seen) = 0;
