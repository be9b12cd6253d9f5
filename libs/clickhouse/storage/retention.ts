import { ClickHouseError } from "@clickhouse/client";
import { retry } from "@noisefloor/domain/time/retry.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { StoreError } from "../client/errors.ts";
import { readDefinitions } from "../schema/definitions.ts";
import { AGEING_TABLES } from "../schema/tables.ts";

/** How long a new store keeps its data when no setting says otherwise; the migrations say the same. */
export const DEFAULT_RETENTION_DAYS = 100;

/** For how many days the store keeps its observations now. */
export async function readRetention(client: ClickHouseClient): Promise<number> {
  const definition = (await readDefinitions(client, ["observations"])).get("observations");
  if (definition === undefined) {
    throw new StoreError('the table observations is missing: run "noisefloor migrate", or grant its user SELECT on it');
  }
  return parseRetention(definition) ?? DEFAULT_RETENTION_DAYS;
}

/** For how many days a table keeps its rows by its definition; undefined when for ever. */
export function parseRetention(createTableQuery: string): number | undefined {
  const days = /\bTTL .*toIntervalDay\((\d+)\)/.exec(createTableQuery)?.[1];
  return days === undefined ? undefined : Number(days);
}

/**
 * Makes every table keep its rows for `days` days. Tables that already do are left alone, because a changed TTL
 * rewrites data; the server goes on with that after this has returned, for as long as it takes.
 * @returns the tables that were changed.
 */
export async function applyRetention(client: ClickHouseClient, days: number): Promise<string[]> {
  if (!Number.isInteger(days) || days < 1)
    throw new RangeError(`retention of ${days} days is not a whole number from 1`);
  const definitions = await readDefinitions(
    client,
    AGEING_TABLES.map(({ name }) => name),
  );
  const changed: string[] = [];
  for (const { name, ttl } of AGEING_TABLES) {
    if (definitions.get(name)?.includes(`TTL ${ttl(days)}`)) continue;
    const change = `ALTER TABLE ${name} MODIFY TTL ${ttl(days)} SETTINGS alter_sync = 0, materialize_ttl_after_modify = 1`;
    for (const owner of await client.owners()) await alter(owner, change);
    changed.push(name);
  }
  return changed;
}

const CANNOT_ASSIGN_ALTER = "517";

/** A replica takes the next change of a table when it has made the last one. */
async function alter(client: ClickHouseClient, query: string): Promise<void> {
  const isTooSoon = (error: unknown) => error instanceof ClickHouseError && error.code === CANNOT_ASSIGN_ALTER;
  const pauses = { firstMs: 200, maxMs: 400 };
  await retry(() => client.command({ query }), { forMs: 10_000, isTransient: isTooSoon, pauses });
}
