import type { Scope } from "@noisefloor/domain/access/scope.ts";
import type { EventData } from "@noisefloor/domain/watches/event.ts";
import type { ConditionOf, Watch, WatchType } from "@noisefloor/domain/watches/watch.ts";
import type { AuthorizedCaller } from "../../auth.ts";

/** A watch of a type, with what its workspace may see. */
export type WatchOf<Type extends WatchType> = Omit<Watch, "on"> & { readonly on: ConditionOf<Type> };
export type Watching<Type extends WatchType> = {
  readonly watch: WatchOf<Type>;
  readonly caller: AuthorizedCaller;
  readonly scopes: readonly Scope[];
};

/** What a look finds of one watch: it becomes an event. */
export type Finding = {
  readonly watch: Watch;
  /** What it tells of, and when that was, in seconds since 1970 UTC: none of it was told, or long ago. */
  readonly subjects: ReadonlyMap<number, number>;
  /** Asked once it is clear that there will be an event. */
  readonly describe: (signal: AbortSignal) => Promise<Description>;
};
export type Description = {
  [Each in WatchType]: { readonly type: Each; readonly summary: string; readonly data: EventData<Each> };
}[WatchType];

/** Whether a watch need not tell of something at a time, in seconds since 1970 UTC. */
export type IsTold = (watch: Watch, subject: number, at: number) => boolean;

/** How the store names the datasets and workspaces of rows that a watch may see. */
export const scopeNames = (scopes: readonly Scope[]): ReadonlySet<string> =>
  new Set(scopes.map(({ dataset, workspaceId }) => `${dataset} ${workspaceId}`));
