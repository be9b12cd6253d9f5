import type { ReplicaState } from "./choose.ts";

/** A server that does not say in time how it is, as under load, is for so long what it was. */
const SILENT_MS = 10_000;
/** A replica that comes back knows only some time later what it lacks: it has to look complete for so long. */
const SETTLE_MS = 3_000;

/** A replica that has been complete for so long was waited for by every insert since, whichever process made it. */
const STEADY_MS = 10_000;

/** What a look says of the other replicas of a shard. */
export type OtherReplicas = { readonly isOneComplete: boolean; readonly isOneThere: boolean };

/** What a server reports: its state, and whether it has nothing to fetch or change. Undefined without an answer. */
export type SeenReplica = { readonly state: ReplicaState; readonly isIdle: boolean } | undefined;

/**
 * Turns what each look at a server says into its state.
 * @returns a function of that, and of the other replicas.
 */
export function rememberReplica(now: () => number): (seen: SeenReplica, others: OtherReplicas) => ReplicaState {
  let last: ReplicaState | undefined;
  let lastAt = now();
  /** When it was last known to miss something; undefined once it has caught up. */
  let missedAt: number | undefined;
  let completeAt = Number.POSITIVE_INFINITY;
  return (seen, { isOneComplete, isOneThere }) => {
    if (seen === undefined && now() - lastAt < SILENT_MS) return last ?? "away";
    if (seen !== undefined) lastAt = now();
    const state = seen?.state ?? "away";
    // A part that only a server had which has ended since: its insert did not end, and is made again here.
    const isSteady = last === "complete" && now() - completeAt >= STEADY_MS;
    if (state === "behind" && isSteady && !isOneThere) return "complete";
    // While no replica has Keeper, none can miss what another stores.
    if (state === "away" || state === "behind" || (state === "alone" && isOneComplete)) missedAt = now();
    const hasCaughtUp = missedAt === undefined || (now() - missedAt >= SETTLE_MS && seen?.isIdle === true);
    if (state === "complete" && hasCaughtUp) {
      if (last !== "complete") completeAt = now();
      missedAt = undefined;
      last = "complete";
    } else last = state === "complete" ? "behind" : state;
    return last;
  };
}
