import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type NetworkKind, readNetworkLists, replaceNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import type { ReadNetworkList } from "./network-list-file.ts";
import { isStarter } from "./starter-networks.ts";

export type StoredLists = {
  readonly imported: readonly ReadNetworkList[];
  /** Lists that were left as they were, and why. */
  readonly kept: readonly { readonly listId: string; readonly reason: string; readonly isStored: boolean }[];
  /** Disjoint ranges of all lists of the kind; 0 when nothing was imported. */
  readonly ranges: number;
  /** How many networks each list had before, without the starter lists. */
  readonly stored: ReadonlyMap<string, number>;
};

/**
 * Replaces lists by their new content, except those that lost more than half of their networks or are empty: their
 * download may be incomplete. A starter list is replaced by whatever has its id.
 */
export async function storeLists(
  client: ClickHouseClient,
  kind: NetworkKind,
  lists: readonly ReadNetworkList[],
  { force, now = Date.now() }: { readonly force: boolean; readonly now?: number },
): Promise<StoredLists> {
  const own = (await readNetworkLists(client, kind)).filter((list) => !isStarter(list));
  const stored = new Map(own.map((list) => [list.listId, list.networks]));
  const shrunken = force ? [] : findShrunken(lists, stored);
  const imported = lists.filter(({ list }) => !shrunken.some(({ listId }) => listId === list.listId));
  const networkLists = imported.map(({ list }) => list);
  const { ranges } = imported.length === 0 ? { ranges: 0 } : await replaceNetworkLists(client, kind, networkLists, now);
  return { imported, kept: shrunken, ranges, stored };
}

/** The lists that lost more than half of their stored networks, or are empty: their download may be incomplete. */
function findShrunken(lists: readonly ReadNetworkList[], stored: ReadonlyMap<string, number>) {
  return lists.flatMap(({ list: { listId, networks }, ipv6, rejected }) => {
    const before = stored.get(listId) ?? 0;
    if (networks.length > 0 && networks.length >= before / 2) return [];
    const found = networks.length > 0 ? `it holds ${networks.length} networks` : formatEmpty(ipv6, rejected.length);
    const reason = before === 0 ? found : `${found}, where ${before} networks are stored`;
    return [{ listId, reason, isStored: before > 0 }];
  });
}

function formatEmpty(ipv6: number, rejected: number): string {
  if (ipv6 > 0) return `its ${ipv6} networks are IPv6, which is not used`;
  return rejected > 0 ? `all of its ${rejected} entries are bad` : "it is empty";
}
