import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, the longest first. One that is missing here only ends a run a little later. */
const SLOW = [
  "test/e2e/command-line.test.ts",
  "test/e2e/start.test.ts",
  "test/integration/operations/fuzz.test.ts",
  "test/integration/operations/bench.test.ts",
  "test/integration/backup/backup.test.ts",
  "test/integration/ingest/ingest-faults.test.ts",
  "test/integration/backup/restore.test.ts",
  "test/integration/ingest/sensor-keys.test.ts",
  "test/integration/clickhouse/embedded-clickhouse.test.ts",
  "test/integration/query/reference-data.test.ts",
];

/** A worker that meets a slow file last leaves the others idle: slow ones go first, then the other tests of real servers. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const place = SLOW.findIndex((name) => moduleId.endsWith(`/${name}`));
  if (place >= 0) return place;
  return project.name === "unit" ? SLOW.length + 1 : SLOW.length;
}
