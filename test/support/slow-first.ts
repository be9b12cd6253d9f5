import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The slowest files, the slowest first, and those that mostly wait among those that keep a processor busy. If one is
 * missing here, a run only ends a little later.
 */
const SLOW = [
  "test/cluster/replicas.test.ts",
  "test/scenarios/restore.test.ts",
  "test/integration/clickhouse/embedded-clickhouse.test.ts",
  "test/e2e/command-line.test.ts",
  "test/integration/backup/backup.test.ts",
  "test/integration/query/explorer.test.ts",
  "test/scenarios/restored-data.test.ts",
  "test/scenarios/ingest-faults.test.ts",
  "test/integration/kafka/hostile-messages.test.ts",
  "test/integration/ingest/insert-queue.test.ts",
  "test/e2e/start.test.ts",
  "test/integration/clickhouse/outage.test.ts",
  "test/cluster/backup.test.ts",
  "test/integration/operations/fuzz.test.ts",
  "test/integration/kafka/group-membership.test.ts",
  "test/integration/ingest/intake-under-pressure.test.ts",
  "test/integration/operations/operations.test.ts",
  "test/integration/ingest/reapply.test.ts",
  "test/integration/ingest/tagging-rules.test.ts",
  "test/integration/kafka/kafka-ingest.test.ts",
  "test/integration/dead-letters/kafka-dead-letters.test.ts",
  "test/integration/operations/tls.test.ts",
  "test/scenarios/rebalance.test.ts",
  "test/integration/clickhouse/dashboard-user.test.ts",
  "services/ingest/sources/hpfeeds/subscriber.test.ts",
  "test/integration/clickhouse/embedded-restart.test.ts",
  "test/integration/clickhouse/retention-command.test.ts",
  "test/scenarios/lookup-limit.test.ts",
  "test/scenarios/infra-cluster.test.ts",
  "test/integration/dead-letters/dead-letter-retry.test.ts",
  "test/integration/kafka/consumer-recovery.test.ts",
  "test/e2e/full-disk.test.ts",
  "test/integration/query/fair-share.test.ts",
  "test/integration/clickhouse/cut-answers.test.ts",
  "test/integration/ingest/simulate.test.ts",
  "test/integration/ingest/sensor-keys.test.ts",
  "test/integration/ingest/sensor-key-ids.test.ts",
  "test/e2e/ports.test.ts",
  "test/scenarios/embedded-restart.test.ts",
  "test/scenarios/full-store.test.ts",
  "test/integration/dead-letters/dead-letter-purge.test.ts",
  "test/integration/kafka/compression.test.ts",
  "test/integration/ingest/simulate-kafka.test.ts",
  "test/integration/query/workspace-delete.test.ts",
  "test/integration/ingest/replay.test.ts",
  "test/integration/operations/alerts.test.ts",
  "test/integration/clickhouse/dashboards.test.ts",
  "services/ingest/sources/kafka/consumer.test.ts",
  "libs/kafka/record-batch/record-batch.test.ts",
];

const WITH_SERVERS = /\/test\/(?:integration|cluster|contract|e2e|scenarios)\//;

/** A slow file at the end leaves the other workers idle: slow ones go first, then the other tests with real servers. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const place = SLOW.findIndex((name) => moduleId.endsWith(`/${name}`));
  if (place >= 0) return place;
  return WITH_SERVERS.test(moduleId) ? SLOW.length : SLOW.length + 1;
}
