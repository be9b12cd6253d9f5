import { expect, test } from "vitest";
import { SHARDED_TABLES, TABLES } from "../schema/tables.ts";
import { changesShards, insertsIntoShards, overAllShards, perShard } from "./sql.ts";

const cluster = { name: "noise", database: "nf" };

test("a statement over all shards names the Distributed tables, and others as they are", () => {
  expect(
    overAllShards(cluster, "SELECT 1 FROM observations FINAL JOIN tags ON 1 WHERE tag IN (SELECT id FROM tags)"),
  ).toBe("SELECT 1 FROM `nf_cluster`.observations FINAL JOIN tags ON 1 WHERE tag IN (SELECT id FROM tags)");
  expect(overAllShards(cluster, "INSERT INTO dead_letters VALUES")).toBe(
    "INSERT INTO `nf_cluster`.dead_letters VALUES",
  );
  for (const other of ["FROM observations_replacing", "FROM nf.observations", "FROM active", "SELECT observations"]) {
    expect(overAllShards(cluster, other)).toBe(other);
  }
});

test("what a shard answers by itself names every table of ours in full, and its database", () => {
  const sql = "WITH active AS (SELECT 1 FROM tag_addresses) SELECT * FROM active JOIN network_ranges USING x";
  expect(perShard(cluster, sql)).toBe(
    "cluster('noise', view(WITH active AS (SELECT 1 FROM `nf`.tag_addresses) SELECT * FROM active JOIN `nf`.network_ranges USING x))",
  );
  expect(perShard(cluster, "SELECT currentDatabase()")).toBe("cluster('noise', view(SELECT 'nf'))");
});

test("only inserts into sharded tables go to the shards once", () => {
  expect(insertsIntoShards("\n  INSERT INTO observations SELECT 1")).toBe(true);
  for (const local of [
    "INSERT INTO tags SELECT 1",
    "INSERT INTO observations_replacing SELECT 1",
    "ALTER TABLE observations",
  ]) {
    expect(insertsIntoShards(local), local).toBe(false);
  }
});

test("what is inserted has a sharding key, and what is derived from it has none", () => {
  const keyed = SHARDED_TABLES.filter((table) => TABLES[table]?.shardBy !== undefined);
  expect(keyed.sort()).toEqual([
    "consumer_lag",
    "dead_letter_retries",
    "dead_letters",
    "observations",
    "sensor_activity",
  ]);
  expect(SHARDED_TABLES).not.toEqual(expect.arrayContaining(["tags"]));
});

test("a statement that changes rows or the definition of a sharded table runs once for each shard", () => {
  for (const once of [
    "ALTER TABLE observations DELETE WHERE 1",
    "TRUNCATE TABLE address_tags",
    "ALTER TABLE tag_addresses MODIFY TTL start",
  ]) {
    expect(changesShards(once), once).toBe(true);
  }
  for (const everywhere of [
    "ALTER TABLE observations MODIFY SETTING fsync_after_insert = 1",
    "ALTER TABLE tags DELETE WHERE 1",
    "CREATE TABLE observations_replacing AS observations",
    "EXCHANGE TABLES observations AND other",
  ]) {
    expect(changesShards(everywhere), everywhere).toBe(false);
  }
});
