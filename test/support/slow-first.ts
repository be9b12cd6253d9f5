import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that keep a processor busy for longest, the slowest first, with about how many seconds. Those of clusters
 * and scenarios were not measured so: they go first, as they take minutes.
 */
const BUSY = new Map([
  ["test/cluster/replicas.test.ts", 60],
  ["test/scenarios/replica-copies.test.ts", 60],
  ["test/scenarios/restore.test.ts", 40],
  ["test/scenarios/restored-data.test.ts", 30],
  ["test/scenarios/bench.test.ts", 30],
  ["test/scenarios/ingest-faults.test.ts", 30],
  ["test/cluster/backup.test.ts", 30],
  ["test/scenarios/rebalance.test.ts", 20],
  ["test/scenarios/lookup-limit.test.ts", 20],
  ["test/scenarios/infra-cluster.test.ts", 20],
  ["test/scenarios/embedded-restart.test.ts", 15],
  ["test/scenarios/full-store.test.ts", 15],
  ["test/scenarios/shard-outage.test.ts", 15],
  ["test/integration/query/explorer.test.ts", 14],
  ["test/e2e/command-line.test.ts", 12],
  ["test/integration/clickhouse/embedded-clickhouse.test.ts", 8],
  ["test/integration/ingest/reapply.test.ts", 8],
  ["test/e2e/start.test.ts", 8],
  ["test/integration/query/fair-share.test.ts", 7],
  ["test/integration/backup/backup.test.ts", 6],
  ["test/integration/operations/fuzz.test.ts", 6],
  ["test/integration/ingest/simulate.test.ts", 5],
  ["test/integration/clickhouse/retention-command.test.ts", 5],
  ["test/e2e/ports.test.ts", 3],
  ["test/e2e/rights.test.ts", 3],
  ["test/e2e/full-disk.test.ts", 3],
  ["test/integration/cluster/shards.test.ts", 3],
  ["test/integration/clickhouse/dashboard-user.test.ts", 3],
  ["test/integration/dead-letters/dead-letter-retry.test.ts", 3],
  ["test/integration/query/address-index.test.ts", 3],
  ["test/integration/clickhouse/dashboards.test.ts", 3],
  ["test/integration/operations/alerts.test.ts", 3],
  ["libs/kafka/record-batch/record-batch.test.ts", 3],
]);
const BUSY_WITH_SERVERS = 1;
const BUSY_WITHOUT = 0.3;

/** The files that mostly wait, as for a broker, a timeout or a poll, with about how many seconds. */
const WAITING = new Map([
  ["test/integration/kafka/kafka-ingest.test.ts", 13],
  ["test/integration/clickhouse/outage.test.ts", 13],
  ["test/integration/kafka/hostile-messages.test.ts", 11],
  // Deletes of rows, which the server puts off while others merge.
  ["test/integration/reference/network-list-commands.test.ts", 10],
  ["test/integration/operations/tls-certificates.test.ts", 9],
  ["test/integration/kafka/group-membership.test.ts", 9],
  ["test/integration/rate-limit/lookup-limit-file.test.ts", 8],
  ["test/integration/ingest/intake-under-pressure.test.ts", 8],
  ["test/integration/ingest/insert-queue.test.ts", 8],
  ["test/integration/ingest/tagging-rules.test.ts", 7],
  ["test/integration/operations/operations.test.ts", 7],
  ["test/integration/query/workspace-delete.test.ts", 6],
  ["test/integration/kafka/consumer-recovery.test.ts", 6],
  ["services/ingest/sources/hpfeeds/subscriber.test.ts", 6],
  ["test/integration/ingest/replay.test.ts", 5],
  ["test/integration/operations/tls.test.ts", 5],
  ["test/integration/dead-letters/kafka-dead-letters.test.ts", 5],
  ["test/integration/dead-letters/dead-letter-purge.test.ts", 5],
  ["test/integration/ingest/sensor-key-ids.test.ts", 4],
  ["test/integration/query/access.test.ts", 4],
  ["test/integration/ingest/sensor-keys.test.ts", 3],
  ["test/integration/reference/tag-import.test.ts", 3],
  ["test/integration/rate-limit/lookup-limit.test.ts", 3],
  ["libs/http/requests/request-bodies.test.ts", 3],
  ["test/integration/ingest/simulate-kafka.test.ts", 2],
  ["test/integration/kafka/odd-batches.test.ts", 2],
  ["test/integration/kafka/compression.test.ts", 2],
  ["test/integration/clickhouse/embedded-restart.test.ts", 2],
]);
/** The part of the busy seconds that is over when the last of them begins. */
const WAITING_BEGUN = 0.85;

const WITH_SERVERS = /\/test\/(?:integration|cluster|contract|e2e|scenarios)\//;

/**
 * A slow file at the end leaves the other workers idle, and so do several at once that wait: slow ones go first, then
 * the other tests with real servers, and those that wait are spread among them. If one is missing here, a run only
 * takes a little longer.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const waiting = files.filter((file) => waitingSeconds(file) > 0);
    waiting.sort((one, other) => waitingSeconds(other) - waitingSeconds(one));
    const busy = files
      .filter((file) => !waiting.includes(file))
      .sort((one, other) => busySeconds(other) - busySeconds(one));
    return spread(waiting, busy);
  }
}

/** @returns both in their order, those that wait as evenly among the seconds of the busy ones as they can be. */
function spread(waiting: readonly TestSpecification[], busy: readonly TestSpecification[]): TestSpecification[] {
  const pace = sum(waiting.map(waitingSeconds)) / (WAITING_BEGUN * sum(busy.map(busySeconds)));
  const sorted: TestSpecification[] = [];
  const left = [...waiting];
  let waited = 0;
  let worked = 0;
  for (const file of busy) {
    while (waited <= worked * pace) {
      const next = left.shift();
      if (next === undefined) break;
      sorted.push(next);
      waited += waitingSeconds(next);
    }
    sorted.push(file);
    worked += busySeconds(file);
  }
  return [...sorted, ...left];
}

const busySeconds = (file: TestSpecification) =>
  secondsIn(BUSY, file) ?? (WITH_SERVERS.test(file.moduleId) ? BUSY_WITH_SERVERS : BUSY_WITHOUT);
const waitingSeconds = (file: TestSpecification) => secondsIn(WAITING, file) ?? 0;

function secondsIn(table: ReadonlyMap<string, number>, { moduleId }: TestSpecification): number | undefined {
  for (const [name, seconds] of table) if (moduleId.endsWith(`/${name}`)) return seconds;
  return undefined;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
