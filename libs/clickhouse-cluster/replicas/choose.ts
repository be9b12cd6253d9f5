/**
 * `complete`: has all rows of its shard but those of the last seconds. `behind`: has yet to fetch older ones, or has
 * just come back. `alone`: answers, but has no connection to Keeper, so that it cannot know what it lacks. `away`: does
 * not answer.
 */
export const REPLICA_STATES = ["complete", "behind", "alone", "away"] as const;
export type ReplicaState = (typeof REPLICA_STATES)[number];

/**
 * Chooses which replica of every shard is asked, by its index in the order of the configuration: one index for all
 * shards, as that is what a query can ask ClickHouse for. A shard whose replica of that index is away is answered by
 * any other, so those must be complete.
 * @param states of each shard's replicas.
 * @param current the replica that was chosen before: it stays while it can. Without Keeper it has what it had then.
 * @returns undefined when every choice would lack rows.
 */
export function chooseReplica(
  states: readonly (readonly ReplicaState[])[],
  current: number | undefined,
): number | undefined {
  const count = Math.max(0, ...states.map((replicas) => replicas.length));
  const order = Array.from({ length: count }, (_, index) => index);
  const preferred = current === undefined ? order : [current, ...order.filter((index) => index !== current)];
  const found = preferred.find((replica) => states.every((replicas) => isComplete(replicas, replica)));
  if (found !== undefined || current === undefined) return found;
  const mayStay = states.every((replicas) => isComplete(replicas, current) || isUnreplaced(replicas, current));
  return mayStay ? current : undefined;
}

const isAway = (state: ReplicaState | undefined) => state === undefined || state === "away";

/** Whether the replica, or while it is away every other one, has all rows. */
function isComplete(replicas: readonly ReplicaState[], replica: number): boolean {
  if (!isAway(replicas[replica])) return replicas[replica] === "complete";
  const others = replicas.filter((state) => !isAway(state));
  return others.length > 0 && others.every((state) => state === "complete");
}

/** Whether no replica of the shard can be written to, so that this one has missed nothing. */
function isUnreplaced(replicas: readonly ReplicaState[], replica: number): boolean {
  return replicas[replica] === "alone" && replicas.every((state) => state === "alone" || isAway(state));
}

/**
 * The replica of one shard that is asked, or that rows go to.
 * @param chosen as `chooseReplica` says.
 * @returns undefined when none answers.
 */
export function replicaOf(states: readonly ReplicaState[], chosen: number | undefined): number | undefined {
  if (chosen !== undefined && !isAway(states[chosen])) return chosen;
  const best = (["complete", "behind", "alone"] as const).map((state) => states.indexOf(state));
  return best.find((index) => index >= 0);
}
