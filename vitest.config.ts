import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./test/support/temporary-folder.ts";
import { IS_FULL } from "./test/support/volume.ts";

keepTemporaryFilesInMemory();

const unit = {
  name: "unit",
  include: ["libs/**/*.test.ts", "services/**/*.test.ts", "test/docs/**/*.test.ts"],
  testTimeout: 60_000,
};

const integration = {
  name: "integration",
  include: [
    "test/integration/**/*.test.ts",
    "test/contract/**/*.test.ts",
    "test/e2e/**/*.test.ts",
    // Clusters of their own, for what users of one machine do not meet.
    ...(IS_FULL || process.env.TEST_SHARDS ? ["test/cluster/**/*.test.ts"] : []),
    // Sensors and readers of feeds from package registries, which take a minute to install.
    ...(IS_FULL ? ["test/sensors/**/*.test.ts", "test/consumers/**/*.test.ts"] : []),
    // Minutes of kills and outages, each of whose promises a smaller test keeps on every commit.
    ...(IS_FULL ? ["test/scenarios/**/*.test.ts"] : []),
  ],
  globalSetup: "test/support/servers/global-setup.ts",
  setupFiles: "test/support/setup.ts",
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/**
 * All tests in the workers of one project: those of a second one would load and transform the same modules again. Named
 * with --project, the fast tests run alone and need no server.
 */
const all = { ...integration, name: "all", include: [...unit.include, ...integration.include] };
const isOneNamed = process.argv.some((argument) => argument.startsWith("--project"));

export default defineConfig({
  test: {
    // Two more than the cores of the smallest machine: tests that wait for a broker or a process leave theirs idle.
    maxWorkers: 4,
    // Files of a worker share its modules and its migrated databases: loading and migrating anew costs a second a file.
    isolate: false,
    reporters: ["default", "./test/support/timings/reporter.ts"],
    projects: (isOneNamed ? [unit, integration] : [all]).map((test) => ({ extends: true, test })),
  },
});
