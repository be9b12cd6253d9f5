import { isDeepStrictEqual } from "node:util";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { authorizeScopes, DATASETS, GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import type { AuthorizedCaller } from "../../auth.ts";
import type { Watching } from "../kinds/kind.ts";
import { indexNetworks, type WatchedNetworks } from "../kinds/network-seen.ts";
import type { WatchingByType } from "./find-all.ts";

/** The watches that are looked after, with what their workspaces may see. */
export type Watched = {
  /** All watches, also those that are not looked after. */
  readonly of: readonly Watch[];
  readonly callers: ReadonlyMap<string, AuthorizedCaller | undefined>;
  readonly byType: WatchingByType;
  readonly networks: WatchedNetworks;
};

/** The watches as they are defined now. @returns the same object while nothing has changed. */
export function readWatched(
  before: Watched,
  cache: Pick<WatchCache, "all">,
  callerOf: (workspaceId: string) => AuthorizedCaller | undefined,
): Watched {
  const all = cache.all();
  const workspaces = new Set(all.map(({ workspaceId }) => workspaceId));
  const callers = new Map([...workspaces].map((id) => [id, callerOf(id)]));
  if (all === before.of && isDeepStrictEqual(callers, before.callers)) return before;
  const watching = all.flatMap((watch) => {
    const caller = watch.isEnabled ? callers.get(watch.workspaceId) : undefined;
    return caller === undefined ? [] : [{ watch, caller, scopes: scopesOf(caller) }];
  });
  const ofType = byType(watching);
  return { of: all, callers, byType: ofType, networks: indexNetworks(ofType.network_seen) };
}

/** What a watch may find: as the search, the observations of its own workspace too where that may ask for them. */
function scopesOf(caller: Caller) {
  const scopes = authorizeScopes("ip", { supplied: true, recognized: [...DATASETS], unrecognized: [] }, caller);
  return "status" in scopes ? [GLOBAL_SCOPE] : scopes;
}

export type AnyWatching = Omit<Watching<"network_seen">, "watch"> & { readonly watch: Watch };

function byType(watching: readonly AnyWatching[]): WatchingByType {
  const of = <Type extends Watch["on"]["type"]>(type: Type) =>
    watching.flatMap(({ watch: { on, ...watch }, ...each }) =>
      isOf(on, type) ? [{ ...each, watch: { ...watch, on } }] : [],
    );
  return {
    network_seen: of("network_seen"),
    search_matches: of("search_matches"),
    tag_rises: of("tag_rises"),
    new_value: of("new_value"),
    sensor_silent: of("sensor_silent"),
  };
}

const isOf = <Type extends Watch["on"]["type"]>(
  on: Watch["on"],
  type: Type,
): on is Extract<Watch["on"], { type: Type }> => on.type === type;

export const NOTHING_WATCHED: Watched = {
  of: [],
  callers: new Map(),
  byType: byType([]),
  networks: indexNetworks([]),
};
