import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import type { FindKnownHost, KnownName } from "@noisefloor/domain/callbacks/known-hosts.ts";
import { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { scopesParam } from "../scope-sql.ts";
import { callbackRows } from "./rows-sql.ts";

/** Why the lists of a workspace have an address of none. */
type GuardedAs = { readonly type: string; readonly name?: string };

export type KnownHostsOf = (workspaceId: string | undefined) => FindKnownHost<GuardedAs>;
export type CallbackDeps = RouteDeps & { readonly knownHostsOf: KnownHostsOf };

/** What a known host is, in a few words. */
export function nameKnown(known: KnownName | GuardedAs): string {
  if ("operator" in known) return known.operator;
  if ("note" in known) return known.note === "" ? known.host : known.note;
  if ("name" in known && known.name !== undefined) return known.name;
  return known.type === "own_address" ? "an address of our own" : "a guarded network";
}

const distinctHosts = (maxScopes: number, isOfAddresses: boolean) =>
  defineQuery({
    name: "callback-names",
    sql: `SELECT DISTINCT host FROM ${callbackRows(maxScopes)}${isOfAddresses ? " AND isIPv4String(host)" : ""}`,
    params: z.object({ scopes: scopesParam, since: z.int() }),
    row: z.object({ host: z.string() }),
  });

/** The known hosts among the callbacks of some scopes since a time (ms since 1970 UTC), with what each is known as. */
export async function readKnown(
  { scopes, since, find }: { scopes: Scope[]; since: number; find: FindKnownHost<GuardedAs> },
  { read }: Pick<CallbackDeps, "read">,
  signal: AbortSignal,
  { isOfAddresses = false } = {},
): Promise<ReadonlyMap<string, KnownName | GuardedAs>> {
  const rows = await read(distinctHosts(scopes.length, isOfAddresses), { scopes, since }, signal);
  const known = new Map<string, KnownName | GuardedAs>();
  for (const { host } of rows) {
    const as = find(host);
    if (as !== undefined) known.set(host, as);
  }
  return known;
}
