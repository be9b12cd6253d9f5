import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createContext } from "@noisefloor/cli/framework/context.ts";
import { serve } from "@noisefloor/cli/process/serve.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { createMetrics, type MetricDescription } from "@noisefloor/telemetry/metrics.ts";
import { expect, onTestFinished, test } from "vitest";
import { freshKafka } from "../../support/worlds/consuming-world.ts";
import { environmentOf } from "../../support/worlds/ingest-process.ts";
import { createWorld } from "../../support/worlds/world.ts";

/** `npm run metrics` writes the table. */
const SHALL_WRITE = process.env.WRITE_METRICS_TABLE === "true";
const DOCUMENT = fileURLToPath(new URL("../../../docs/operations.md", import.meta.url));
/** The section's table, from its head to its last row. */
const TABLE = /(?<=\n### All metrics\n[^#]*)\| metric [^#]*\|\n(?=\n#)/;

const cell = (text: string) =>
  text.replaceAll("|", "\\|").replaceAll(/[<>]/g, (sign) => (sign === "<" ? "&lt;" : "&gt;"));

function unitOf(name: string): string {
  if (name.endsWith("_timestamp_seconds")) return "seconds since 1970";
  return /_(seconds|bytes|ratio)(?:_total)?$/.exec(name)?.[1] ?? "";
}

function formatTable(metrics: readonly MetricDescription[]): string {
  const rows = metrics
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((one) => `\`${one}\``).join(", "),
      unitOf(name),
      cell(help),
    ]);
  const lines = [["metric", "type", "labels", "unit", "meaning"], ["---", "---", "---", "---", "---"], ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`.replaceAll(/\| +(?=\|)/g, "| ")).join("");
}

/** The metrics of a service in which every part that has some runs. */
async function describeMetrics(): Promise<readonly MetricDescription[]> {
  const world = await createWorld(Date.now);
  onTestFinished(() => world.close());
  const dataDir = await mkdtemp(join(tmpdir(), "noisefloor-metrics-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const { settings, log } = await createContext({
    ...environmentOf(world.connection, await freshKafka()),
    LOG_LEVEL: "silent",
    DATA_DIR: dataDir,
    HTTP_PORT: "0",
    // Nothing listens there.
    HPFEEDS_URL: "hpfeeds://ident:secret@127.0.0.1:9",
    HPFEEDS_CHANNELS: "cowrie.sessions",
  });
  const store = await openPreparedStore(settings, { purpose: "look" });
  onTestFinished(() => store.close());
  const metrics = createMetrics();
  const service = await serve({ ingest: true, query: true }, store, settings, log, metrics);
  await service.stop();
  return metrics.describe();
}

test("the table of metrics in docs/operations.md has every metric of the services, with type, labels and unit", async () => {
  const table = formatTable(await describeMetrics());
  const document = await readFile(DOCUMENT, "utf8");
  if (SHALL_WRITE)
    await writeFile(
      DOCUMENT,
      document.replace(TABLE, () => table),
    );
  else expect(TABLE.exec(document)?.[0]).toBe(table);
});
