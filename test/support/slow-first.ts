import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The slowest files, the slowest first. If one is missing here, a run only ends a little later. */
const SLOW = [
  "test/integration/ingest/killed-ingest.test.ts",
  "test/integration/ingest/insert-queue.test.ts",
  "test/integration/backup/backup.test.ts",
  "test/integration/backup/restore.test.ts",
  "test/e2e/command-line.test.ts",
  "test/integration/operations/bench.test.ts",
  "test/integration/operations/fuzz.test.ts",
  "test/integration/query/explorer.test.ts",
  "test/integration/ingest/intake-under-pressure.test.ts",
  "test/integration/kafka/hostile-messages.test.ts",
  "test/integration/query/fair-share.test.ts",
  "test/integration/kafka/kafka-ingest.test.ts",
  "test/e2e/full-store.test.ts",
  "test/integration/query/address-index.test.ts",
  "test/integration/query/access.test.ts",
  "test/integration/query/tag-activity.property.test.ts",
  "test/integration/ingest/replay.test.ts",
  "test/integration/backup/restored-data.test.ts",
  "test/integration/clickhouse/dashboard-user.test.ts",
  "test/integration/clickhouse/embedded-clickhouse.test.ts",
  "test/integration/ingest/sensor-key-ids.test.ts",
  "test/e2e/rights.test.ts",
  "test/integration/operations/alerts.test.ts",
  "test/e2e/start.test.ts",
  "test/integration/dead-letters/dead-letter-retry.test.ts",
  "test/e2e/tls.test.ts",
  "test/integration/reference/network-lists.test.ts",
  "test/e2e/lookup-limit.test.ts",
  "test/e2e/full-disk.test.ts",
  "test/integration/dead-letters/kafka-dead-letters.test.ts",
  "test/integration/clickhouse/retention-command.test.ts",
];

const WITH_SERVERS = /\/test\/(?:integration|contract|e2e|scenarios)\//;

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
