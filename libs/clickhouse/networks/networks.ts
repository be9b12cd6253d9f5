import type { Ipv4Network } from "@noisefloor/domain/address/ipv4.ts";
import { flattenNetworks, type ListedNetwork } from "@noisefloor/domain/address/ranges.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { defineStates } from "../records/define-states.ts";

/** Whether a list names benign services (riot) or the networks of known benign scan operators (actors). */
export type NetworkKind = "service" | "actor";

/** A published list of networks, with how the API describes their operator. */
export type NetworkList = {
  readonly listId: string;
  readonly name: string;
  readonly category: string;
  readonly description: string;
  readonly explanation: string;
  readonly reference: string;
  readonly trustLevel: string;
  readonly priority: number;
  readonly networks: readonly Ipv4Network[];
};

const latestGeneration = defineQuery({
  name: "latest-network-generation",
  sql: `SELECT greatest(
      (SELECT max(generation) FROM network_lists WHERE kind = {kind:String}),
      (SELECT max(generation) FROM network_generations WHERE kind = {kind:String})) AS generation,
      (SELECT max(generation) FROM network_generations WHERE kind = {kind:String}) AS answering`,
  params: z.object({ kind: z.string() }),
  row: z.object({ generation: z.int(), answering: z.int() }),
});

const currentNetworks = defineQuery({
  name: "current-networks",
  sql: `SELECT first, length, list_id AS listId, priority
    FROM network_prefixes
    INNER JOIN (SELECT list_id, generation, priority FROM network_lists FINAL WHERE kind = {kind:String}) AS lists
      USING (list_id, generation)
    WHERE kind = {kind:String}`,
  params: z.object({ kind: z.string() }),
  row: z.object({ first: z.int(), length: z.int(), listId: z.string(), priority: z.int() }),
});

const outdatedPartitions = defineQuery({
  name: "outdated-network-partitions",
  sql: `SELECT DISTINCT partition_id FROM system.parts
    WHERE database = currentDatabase() AND table = 'network_ranges' AND active
      AND toUInt8(splitByChar('-', partition_id)[1]) = {kindNumber:UInt8}
      AND toUInt64(splitByChar('-', partition_id)[2]) < {before:UInt64}`,
  params: z.object({ kindNumber: z.int(), before: z.int() }),
  row: z.object({ partition_id: z.string() }),
});

const KIND_NUMBERS: Record<NetworkKind, number> = { service: 1, actor: 2 };

/**
 * Replaces each list by its new content, then flattens all lists of the kind and switches every reader to the result
 * at once. Importing the same lists again changes nothing but the day they were refreshed.
 */
export async function replaceNetworkLists(
  client: ClickHouseClient,
  kind: NetworkKind,
  lists: readonly NetworkList[],
  now: number,
): Promise<{ ranges: number }> {
  await writeLists(client, kind, lists, await nextGeneration(client, kind), now);
  return switchRanges(client, kind);
}

/** Whether lists of a kind were ever stored, even if all of them have been removed since. */
export async function hasNetworkHistory(client: ClickHouseClient, kind: NetworkKind): Promise<boolean> {
  return (await runForOne(client, latestGeneration, { kind })).generation > 0;
}

/** The lists of all kinds, by kinds and ids. */
const networkLists = defineStates({
  table: "network_lists",
  id: "listId",
  orderBy: "kind, list_id",
  row: z.object({
    kind: z.enum(["service", "actor"]),
    listId: z.string(),
    generation: z.int(),
    name: z.string(),
    category: z.string(),
    description: z.string(),
    explanation: z.string(),
    reference: z.string(),
    trustLevel: z.string(),
    priority: z.int(),
    /** How many networks it holds. */
    networks: z.int(),
    /** When it was imported last, in milliseconds since 1970 UTC. */
    refreshedAt: z.int(),
  }),
});

export const readNetworkLists = async (client: ClickHouseClient, kind: NetworkKind) =>
  (await networkLists.read(client)).filter((list) => list.kind === kind);

/** Removes lists, and with them the ranges that only they cover. */
export async function removeNetworkLists(
  client: ClickHouseClient,
  kind: NetworkKind,
  listIds: readonly string[],
): Promise<{ ranges: number }> {
  await client.command({
    query: "DELETE FROM network_lists WHERE kind = {kind:String} AND list_id IN {listIds:Array(String)}",
    query_params: { kind, listIds: [...listIds] },
  });
  return switchRanges(client, kind);
}

/** Flattens the lists of a kind as they stand and switches every reader to the result. */
async function switchRanges(client: ClickHouseClient, kind: NetworkKind): Promise<{ ranges: number }> {
  // Taken after the lists were written and before all are read: of two simultaneous imports, the one with the higher
  // number has read what the other one wrote.
  const generation = await nextGeneration(client, kind);
  const networks: ListedNetwork[] = await run(client, currentNetworks, { kind });
  const ranges = flattenNetworks(networks);
  if (ranges.length > 0) {
    await client.insert({
      table: "network_ranges",
      values: ranges.map(({ first, last, listId }) => ({ kind, generation, first, last, list_id: listId })),
      format: "JSONEachRow",
    });
  }
  const before = await runForOne(client, latestGeneration, { kind });
  await client.insert({ table: "network_generations", values: [{ kind, generation }], format: "JSONEachRow" });
  await dropOutdated(client, kind, before.answering);
  return { ranges: ranges.length };
}

/** Higher than every number that was given out before. Microseconds, so that two simultaneous imports differ. */
async function nextGeneration(client: ClickHouseClient, kind: NetworkKind): Promise<number> {
  const latest = await runForOne(client, latestGeneration, { kind });
  return Math.max(Math.floor((performance.timeOrigin + performance.now()) * 1_000), latest.generation + 1);
}

/** The networks first: a list's row makes them count, so a reader never finds a list by half. */
async function writeLists(
  client: ClickHouseClient,
  kind: NetworkKind,
  lists: readonly NetworkList[],
  generation: number,
  now: number,
): Promise<void> {
  const prefixes = lists.flatMap(({ listId, networks }) =>
    networks.map(({ first, length }) => ({ kind, list_id: listId, generation, first, length })),
  );
  if (prefixes.length > 0) {
    await client.insert({ table: "network_prefixes", values: prefixes, format: "JSONEachRow" });
  }
  const rows = lists.map((list) => ({ ...list, kind, generation, networks: list.networks.length, refreshedAt: now }));
  await networkLists.write(client, rows);
}

/**
 * Frees what imports before the last one left. The last one's ranges stay until the next import: a running query may
 * have read its number already.
 */
async function dropOutdated(client: ClickHouseClient, kind: NetworkKind, before: number): Promise<void> {
  await client.command({
    query: `DELETE FROM network_prefixes WHERE kind = {kind:String}
      AND (list_id, generation) NOT IN (SELECT list_id, generation FROM network_lists FINAL WHERE kind = {kind:String})
      AND generation < {before:UInt64}`,
    query_params: { kind, before },
  });
  for (const { partition_id } of await run(client, outdatedPartitions, { kindNumber: KIND_NUMBERS[kind], before })) {
    await client.command({
      query: "ALTER TABLE network_ranges DROP PARTITION ID {id:String}",
      query_params: { id: partition_id },
    });
  }
}
