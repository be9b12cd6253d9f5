import { NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import {
  type NewsField,
  readNews,
  readNewsSince,
  readNewsValues,
  readNewsValuesSince,
} from "@noisefloor/clickhouse/watches/news.ts";
import { NOTHING_READ, type OwnerPosition, type Position } from "./position.ts";
import type { Read } from "./recent-news.ts";

export type StoredOptions = {
  /** Whose values are read, too. */
  readonly fields: readonly NewsField[];
  /** Older rows of the log are not read. */
  readonly seconds: number;
  /** Where the blocks that were read are not known, what was received since then (ms since 1970 UTC) is read. */
  readonly gapSince: number;
};

/** Reads what was stored after a position. */
export async function readStored(client: ClickHouseClient, before: Position["owners"], options: StoredOptions) {
  const owners = await client.owners();
  const all = await Promise.all(owners.map((owner, index) => readOf(owner, before[index] ?? NOTHING_READ, options)));
  return { reads: all.flatMap(({ reads }) => reads), owners: all.map(({ position }) => position) };
}

async function readOf(
  owner: ClickHouseClient,
  before: OwnerPosition,
  { fields, seconds, gapSince }: StoredOptions,
): Promise<{ readonly reads: readonly Read[]; readonly position: OwnerPosition }> {
  let news = await readNews(owner, before.blocks, seconds);
  const isOther = news.version !== before.version;
  // The blocks that were read are those of another table.
  if (isOther && before.version !== "") news = await readNews(owner, NO_BLOCKS, seconds);
  // Values are read last: those of a block that shows up in between are read twice, and never missed.
  const values = fields.length === 0 ? undefined : await readNewsValues(owner, fields, before.blocks, seconds);
  const reads: Read[] = [{ news, values }];
  if (isOther) {
    const missed = { ...(await readNewsSince(owner, gapSince)), blocks: news.blocks, version: news.version };
    reads.push({
      news: missed,
      values: fields.length === 0 ? undefined : await readNewsValuesSince(owner, fields, gapSince),
    });
  }
  return { reads, position: { version: news.version, blocks: news.blocks } };
}
