-- address_facets has their rows. The views first: an insert fails while a view has no table. The server would not drop a
-- large table without the settings.
DROP VIEW IF EXISTS address_networks_mv SYNC;
DROP VIEW IF EXISTS scope_tags_mv SYNC;
DROP VIEW IF EXISTS address_values_mv SYNC;

DROP TABLE IF EXISTS address_networks SYNC SETTINGS max_table_size_to_drop = 0, max_partition_size_to_drop = 0;
DROP TABLE IF EXISTS scope_tags SYNC SETTINGS max_table_size_to_drop = 0, max_partition_size_to_drop = 0;
DROP TABLE IF EXISTS address_values SYNC SETTINGS max_table_size_to_drop = 0, max_partition_size_to_drop = 0;
