ALTER TABLE address_daily MODIFY SETTING non_replicated_deduplication_window = 1000
