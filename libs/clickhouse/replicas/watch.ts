import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run } from "../client/query.ts";
import { chooseReplica, type ReplicaState } from "./choose.ts";
import { MAX_DELAY_SECONDS } from "./settings.ts";

/** What is known of the replicas of a cluster's shards. */
export type Replicas = {
  /** Of each shard, in order. */
  readonly states: readonly (readonly ReplicaState[])[];
  /** The replica that is asked, by its index in each shard; undefined when each choice would lack rows. */
  readonly chosen: number | undefined;
};

export type ReplicaWatch = {
  /** What is known now, at most a few seconds old. */
  read(): Promise<Replicas>;
  /** Says that a server did not answer: it is not asked until another look has seen it answer. */
  reportAway(shard: number, replica: number): void;
};

/** What was seen is looked at again after so long, */
const REFRESH_MS = 1_000;
/** and is not believed after so long. */
const MAX_AGE_MS = 4_000;
const PROBE_TIMEOUT_MS = 3_000;
/**
 * A replica that comes back knows only some time later what it lacks: it has to look complete for so long.
 */
const SETTLE_MS = 3_000;

const replicaState = defineQuery({
  name: "replica-state",
  sql: `SELECT toUInt32(max(absolute_delay)) AS delay, toUInt32(countIf(is_readonly OR is_session_expired)) AS alone
    FROM system.replicas WHERE database = if({database:String} = '', currentDatabase(), {database:String})`,
  params: z.object({ database: z.string() }),
  row: z.object({ delay: z.int(), alone: z.int() }),
});

/**
 * What one look at a server says; `complete` before it has settled.
 * @param database the client's own, if left out.
 */
export async function readReplicaState(server: ClickHouseClient, database = ""): Promise<ReplicaState> {
  try {
    const [found] = await run(server, replicaState, { database }, AbortSignal.timeout(PROBE_TIMEOUT_MS));
    if (found === undefined) return "away";
    if (found.alone > 0) return "alone";
    return found.delay > MAX_DELAY_SECONDS ? "behind" : "complete";
  } catch {
    return "away";
  }
}

/**
 * Looks at the replicas when somebody asks for them, at most once a second. It needs no end: nothing runs between the
 * questions.
 * @param servers of each shard.
 * @param now milliseconds that never go back.
 */
export function watchReplicas(
  servers: readonly (readonly ClickHouseClient[])[],
  now: () => number = () => performance.now(),
): ReplicaWatch {
  /** Since when a server has looked complete; of the first look, for ever. */
  const completeSince = new Map<string, number>();
  let known: Replicas | undefined;
  let seenAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<Replicas> | undefined;

  const settle = (key: string, state: ReplicaState, replicas: readonly ReplicaState[]): ReplicaState => {
    if (state !== "complete") {
      // While no replica has Keeper, none can miss what another stores.
      if (state !== "alone" || replicas.includes("complete")) completeSince.delete(key);
      return state;
    }
    const since = completeSince.get(key) ?? (known === undefined ? Number.NEGATIVE_INFINITY : now());
    completeSince.set(key, since);
    return now() - since >= SETTLE_MS ? "complete" : "behind";
  };
  const look = async (): Promise<Replicas> => {
    const found = await Promise.all(
      servers.map((replicas) => Promise.all(replicas.map((server) => readReplicaState(server)))),
    );
    const states = found.map((replicas, shard) =>
      replicas.map((state, replica) => settle(`${shard}/${replica}`, state, replicas)),
    );
    known = { states, chosen: chooseReplica(states, known?.chosen) };
    seenAt = now();
    return known;
  };
  const lookOnce = () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };

  /** A look never fails: what it cannot see is away. */
  const lookAgain = () => void lookOnce();

  return {
    async read() {
      const age = now() - seenAt;
      if (known === undefined || age > MAX_AGE_MS) return lookOnce();
      if (age > REFRESH_MS) lookAgain();
      return known;
    },
    reportAway(shard, replica) {
      if (known === undefined) return;
      const states = known.states.map((replicas, index) =>
        index === shard ? replicas.map((state, at) => (at === replica ? "away" : state)) : replicas,
      );
      known = { states, chosen: chooseReplica(states, known.chosen) };
      lookAgain();
    },
  };
}
