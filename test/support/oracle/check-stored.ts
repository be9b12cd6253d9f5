import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { fingerprint, type KnownEvent, NAMED_BY_ITS_PLACE } from "../builders/known-events.ts";

/** Events are compared in blocks of this size; a difference is then searched in its block alone. */
const BLOCK = 10_000;

const storedBlocks = defineQuery({
  name: "test-stored-blocks",
  sql: `
    SELECT intDiv(number, {block:UInt32}) AS block, count() AS rows, toString(groupBitXor(print)) AS print FROM (
      SELECT
        JSONExtractUInt(metadata, 'event') AS number,
        if(match(observation_id, '^(kafka|file):'), {placed:String}, observation_id) AS id,
        concatWithSeparator('|', toString(number), id, toString(toUnixTimestamp64Milli(observed_at)), dataset, sensor_id,
          toString(source_ip), toString(destination_port),
          arrayStringConcat(arraySort(arrayMap(tag -> toString(tag), tags)), ',')) AS line,
        reinterpretAsUInt64(substring(SHA256(line), 1, 8)) AS print
      FROM ${OBSERVATIONS} FINAL
    )
    GROUP BY block ORDER BY block`,
  params: z.object({ block: z.int(), placed: z.string() }),
  row: z.object({ block: z.int(), rows: z.int(), print: z.string() }),
});

const storedNumbers = defineQuery({
  name: "test-stored-numbers",
  sql: `
    SELECT JSONExtractUInt(metadata, 'event') AS number, count() AS rows FROM ${OBSERVATIONS} FINAL
    WHERE intDiv(number, {block:UInt32}) = {which:UInt32} GROUP BY number`,
  params: z.object({ block: z.int(), which: z.int() }),
  row: z.object({ number: z.int(), rows: z.int() }),
});

/**
 * Checks that the rows, after replacement, are exactly the distinct published events, with all their members.
 * @throws with the first events that are missing, twice or different.
 */
export async function assertStored(client: ClickHouseClient, events: readonly KnownEvent[]): Promise<void> {
  const expected = new Map<number, { rows: number; print: bigint }>();
  for (const event of events) {
    const block = expected.get(Math.floor(event.number / BLOCK)) ?? { rows: 0, print: 0n };
    expected.set(Math.floor(event.number / BLOCK), { rows: block.rows + 1, print: block.print ^ fingerprint(event) });
  }
  const stored = await run(client, storedBlocks, { block: BLOCK, placed: NAMED_BY_ITS_PLACE });
  const found = new Map(stored.map((block) => [block.block, block]));
  const wrong: string[] = [];
  for (const which of new Set([...expected.keys(), ...found.keys()])) {
    const [want, have] = [expected.get(which), found.get(which)];
    if (want?.rows !== have?.rows || String(want?.print) !== have?.print)
      wrong.push(await describe(client, events, which));
  }
  if (wrong.length > 0)
    throw new Error(`the stored rows are not the published events: ${wrong.slice(0, 3).join("; ")}`);
}

async function describe(client: ClickHouseClient, events: readonly KnownEvent[], which: number): Promise<string> {
  const rows = new Map(
    (await run(client, storedNumbers, { block: BLOCK, which })).map((row) => [row.number, row.rows]),
  );
  const published = events.filter(({ number }) => Math.floor(number / BLOCK) === which);
  const missing = published.filter(({ number }) => !rows.has(number)).map(({ number }) => number);
  const twice = [...rows].filter(([, count]) => count > 1).map(([number]) => number);
  const some = (numbers: readonly number[]) => `${numbers.length} (${numbers.slice(0, 5).join(", ")} ...)`;
  return `of the events from ${which * BLOCK} missing ${some(missing)}, more than once ${some(twice)}; else their content differs`;
}
