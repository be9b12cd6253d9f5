ALTER TABLE address_tags MODIFY SETTING non_replicated_deduplication_window = 1000
