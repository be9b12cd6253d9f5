import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { explainMissingRight, isUnreachable } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { z } from "zod";
import { chooseReplica, type ReplicaState } from "./choose.ts";
import { rememberReplica, type SeenReplica } from "./memory.ts";
import { MAX_DELAY_SECONDS } from "./settings.ts";

/** What is known of the replicas of a cluster's shards. */
export type Replicas = {
  /** The replicas' states, shard by shard. */
  readonly states: readonly (readonly ReplicaState[])[];
  /** The replica that is asked, by its index in each shard; undefined when each choice would lack rows. */
  readonly chosen: number | undefined;
};

export type ReplicaCache = {
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

const replicaState = defineQuery({
  name: "replica-state",
  sql: `SELECT toUInt32(count()) AS tables, toUInt32(max(absolute_delay)) AS delay,
      toUInt32(countIf(is_readonly OR is_session_expired)) AS alone,
      toUInt32(sum(inserts_in_queue + part_mutations_in_queue)) AS waiting
    FROM system.replicas
    WHERE database = if({database:String} = '', currentDatabase(), {database:String})
      AND table IN {sharded:Array(String)}`,
  params: z.object({ database: z.string(), sharded: z.array(z.string()).readonly() }),
  row: z.object({ tables: z.int(), delay: z.int(), alone: z.int(), waiting: z.int() }),
});

/** What one look at a server says; `complete` before it has settled. Undefined when it did not say it in time. */
export async function readReplicaState(server: ClickHouseClient, database = ""): Promise<ReplicaState | undefined> {
  return (await lookAt(server, database))?.state;
}

/**
 * @param database the client's own, if left out.
 * @throws StoreError when the user may not know.
 */
async function lookAt(server: ClickHouseClient, database = ""): Promise<SeenReplica> {
  try {
    const params = { database, sharded: SPREAD_TABLES };
    const [found] = await run(server, replicaState, params, AbortSignal.timeout(PROBE_TIMEOUT_MS));
    if (found === undefined) return undefined;
    return { state: stateOf(found), isIdle: found.waiting === 0 };
  } catch (error) {
    const denied = explainMissingRight(error);
    if (denied !== undefined) throw denied;
    return isUnreachable(error) ? { state: "away", isIdle: false } : undefined;
  }
}

function stateOf({ tables, delay, alone }: { tables: number; delay: number; alone: number }): ReplicaState {
  if (tables < SPREAD_TABLES.length) return "behind";
  if (alone > 0) return "alone";
  return delay > MAX_DELAY_SECONDS ? "behind" : "complete";
}

/**
 * Looks at the replicas when a request needs them, at most once a second. No timer runs in between, so there is nothing
 * to stop.
 * @param servers of each shard.
 * @param now milliseconds that never go back.
 */
export function createReplicaCache(
  servers: readonly (readonly ClickHouseClient[])[],
  now: () => number = () => performance.now(),
): ReplicaCache {
  const memories = servers.map((replicas) => replicas.map(() => rememberReplica(now)));
  let known: Replicas | undefined;
  let seenAt = Number.NEGATIVE_INFINITY;
  const share = createSingleFlight<"look", Replicas>();

  const look = async (): Promise<Replicas> => {
    const found = await Promise.all(servers.map((replicas) => Promise.all(replicas.map((server) => lookAt(server)))));
    const states = found.map((replicas, shard) =>
      replicas.map((state, replica) => {
        const others = replicas.filter((_, index) => index !== replica);
        const isOneThere = others.some((other) => other?.state !== "away");
        const isOneComplete = others.some((other) => other?.state === "complete");
        return memories[shard]?.[replica]?.(state, { isOneComplete, isOneThere }) ?? "away";
      }),
    );
    known = { states, chosen: chooseReplica(states, known?.chosen) };
    seenAt = now();
    return known;
  };
  const lookOnce = () => share("look", look);
  /** If it fails, the next call of `read` looks again and rejects with the reason. */
  const lookAgain = () => void lookOnce().catch(() => {});

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
