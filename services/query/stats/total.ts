import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import type { AddressIndex } from "../address-index/memory-lookup.ts";
import { askIndex, takeTurns } from "./in-memory.ts";
import { countSeen } from "./queries.ts";

export type TotalDeps = {
  readonly read: Read;
  /** Has the addresses of the global dataset. */
  readonly index?: AddressIndex | undefined;
};

/** Counts the distinct addresses that were seen since `from`, in milliseconds since 1970 UTC. */
export async function countAllSeen(
  { scopes, from }: { readonly scopes: Scope[]; readonly from: number },
  { read, index }: TotalDeps,
  signal: AbortSignal,
): Promise<number> {
  const counted = await askIndex(scopes, index, (current) => countInMemory(from, current, signal));
  return counted ?? onlyRow(countSeen, await read(countSeen, { scopes, from }, signal)).active_ips;
}

async function countInMemory(from: number, index: AddressIndex, signal: AbortSignal): Promise<number> {
  let addresses = 0;
  await takeTurns(
    index.visit(from, () => {
      addresses++;
    }),
    signal,
  );
  return addresses;
}
