import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import type { Stage } from "../support/worlds/soak-stage.ts";
import { type Scenario, waitForInserts } from "./scenario.ts";

const STORED = 'noisefloor_insert_duration_seconds_count{outcome="stored"}';
const RETRIED = 'noisefloor_insert_duration_seconds_count{outcome="transient"}';

/** The memory limit of all queries of ingest's user, exact to the byte and without a wait. */
const MEMORY_LIMIT = {
  ch_max_memory_usage_for_user: "100000000",
  ch_max_untracked_memory: "0",
  ch_memory_usage_overcommit_max_wait_microseconds: "0",
};

type Limit = {
  readonly name: string;
  readonly code: string;
  /** Resolves when the server exceeds it. @returns a function that ends that. */
  impose(stage: Stage): Promise<() => Promise<unknown>>;
};

const LIMITS: readonly Limit[] = [
  {
    name: "TOO_MANY_PARTS",
    code: "252",
    impose: (stage) => changeTable(stage, { parts_to_throw_insert: 1, parts_to_delay_insert: 1 }),
  },
  {
    name: "NOT_ENOUGH_SPACE",
    code: "243",
    impose: (stage) => changeTable(stage, { min_free_disk_bytes_to_perform_insert: 2 ** 60 }),
  },
  { name: "MEMORY_LIMIT_EXCEEDED", code: "241", impose: holdMemory },
];

/** ClickHouse rejects inserts for a while: too many parts, a full disk, then no memory. */
export const overLimit: Scenario = {
  name: "limit",
  promise: "while ClickHouse exceeds a limit ingest waits, logs why, and continues afterwards",
  events: { soak: 12_000, test: 12_000 },
  async play(stage, extent) {
    const { events, servers } = stage;
    const waitMs = extent === "soak" ? 3_000 : 2_000;
    const ingest = await stage.ingest({
      CLICKHOUSE_URL: `${servers.store.connection.url}/?${new URLSearchParams(MEMORY_LIMIT)}`,
    });
    const share = Math.ceil(events.length / (2 * LIMITS.length));
    for (const [number, { name, code, impose }] of LIMITS.entries()) {
      const flowing = await waitForInserts(stage);
      const before = stage.publish(events.slice(2 * number * share, (2 * number + 1) * share));
      await flowing();
      // While the limit is imposed, inserts may fail already, and the next one only after a pause longer than ours.
      const retriesBefore = await ingest.metric(RETRIED);
      const lift = await impose(stage);
      // Events must arrive now, however quickly the first half was stored.
      const meanwhile = stage.publish(events.slice((2 * number + 1) * share, (2 * number + 2) * share));
      await eventually(async () => {
        const log = ingest.log();
        if (!log.includes(`"code":"${code}"`)) throw new Error(`the log does not say ${name}: ${log.slice(-2_000)}`);
      });
      await Promise.all([before.done, meanwhile.done]);
      const insertsBefore = await ingest.metric(STORED);
      await sleep(waitMs);
      if ((await ingest.metric(STORED)) > insertsBefore) throw new Error(`rows were stored in spite of ${name}`);
      if ((await ingest.metric(RETRIED)) <= retriesBefore)
        throw new Error(`/metrics does not count inserts retried for ${name}`);
      await lift();
    }
    await stage.drained();
    await stage.verify();
    return LIMITS.map(({ name }) => name).join(", ");
  },
};

async function changeTable({ client }: Stage, settings: Readonly<Record<string, number>>) {
  const changes = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  await client.command({ query: `ALTER TABLE observations MODIFY SETTING ${changes.join(", ")}` });
  return () => client.command({ query: `ALTER TABLE observations RESET SETTING ${Object.keys(settings).join(", ")}` });
}

/**
 * The rows of a large query: some 300 MB, three times the limit. ClickHouse takes some 2 MB off its count of the
 * user's memory with each insert that fails at the limit: with half as many, inserts passed after twenty failures.
 */
const HELD_ROWS = 8_000_000;

/** A large query of the same user takes more than the limit, and keeps it. */
async function holdMemory({ client, kafka }: Stage) {
  const id = `hold-${kafka.groupId}`;
  let isHolding = false;
  const hold = async () => {
    isHolding = true;
    // The right side is built in memory first; then each row of the left takes a second.
    const query = `
      SELECT count()
      FROM (SELECT number + sleepEachRow(1) AS number FROM system.numbers LIMIT 600 SETTINGS max_block_size = 1) AS slow
      INNER JOIN (SELECT number FROM numbers(${HELD_ROWS})) AS large USING (number)`;
    // The server must not end the larger query when the limit is exceeded.
    const settings = {
      query_plan_join_swap_table: "false",
      memory_overcommit_ratio_denominator_for_user: "0",
    } as const;
    await client.command({ query, query_id: id, clickhouse_settings: settings }).catch(() => {});
    isHolding = false;
  };
  let holding = Promise.resolve();
  await eventually(async () => {
    // A concurrent insert may make it fail at the same limit while it grows.
    if (!isHolding) holding = hold();
    const held = await client.query({
      // Once the left side is read, from its second row on, it grows no more.
      query: `SELECT max(read_rows) > ${HELD_ROWS + 1} FROM system.processes WHERE query_id = {id:String}`,
      query_params: { id },
      format: "TabSeparated",
    });
    if ((await held.text()).trim() !== "1") throw new Error("the large query does not hold its memory yet");
  });
  return async () => {
    await client.command({ query: "KILL QUERY WHERE query_id = {id:String} SYNC", query_params: { id } });
    await holding;
  };
}
