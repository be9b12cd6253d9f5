import type { ReplicaState } from "./choose.ts";

/** A server that does not say in time how it is, as under load, is for so long what it was. */
const SILENT_MS = 10_000;
/** A replica that comes back knows only some time later what it lacks: it has to look complete for so long. */
const SETTLE_MS = 3_000;

/** What a look says of the other replicas of a shard. */
export type OtherReplicas = { readonly isOneComplete: boolean; readonly isOneThere: boolean };

/**
 * Turns what each look at a server says into its state.
 * @returns a function of that, and of the other replicas.
 */
export function rememberReplica(
  now: () => number,
): (seen: ReplicaState | undefined, others: OtherReplicas) => ReplicaState {
  let last: ReplicaState | undefined;
  let lastAt = now();
  let missedAt = Number.NEGATIVE_INFINITY;
  return (seen, { isOneComplete, isOneThere }) => {
    const isSilent = seen === undefined && now() - lastAt < SILENT_MS;
    if (isSilent) return last ?? "away";
    if (seen !== undefined) lastAt = now();
    const state = seen ?? "away";
    // While no replica has Keeper, none can miss what another stores.
    if (state === "away" || (state === "alone" && isOneComplete)) missedAt = now();
    // A part that only a server had which has ended since: its insert did not end, and is made again here.
    const lacksNothing = state === "behind" && last === "complete" && !isOneThere;
    if (!lacksNothing) last = state === "complete" && now() - missedAt < SETTLE_MS ? "behind" : state;
    return last ?? "away";
  };
}
