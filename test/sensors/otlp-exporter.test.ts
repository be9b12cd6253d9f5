import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { cowrieLines, visits } from "../support/builders/cowrie-log.ts";
import { installNpm, runProgram } from "../support/programs.ts";
import { ingestOf } from "../support/worlds/consuming-world.ts";
import { makeApp } from "../support/worlds/http.ts";
import { createWorld } from "../support/worlds/world.ts";

const KEY = "key-of-the-settings";
const VISITS = visits(5, Date.now() - 3_600_000);
const LINES = VISITS.flatMap(cowrieLines);

const PACKAGES = ["exporter-logs-otlp-http", "sdk-logs", "api-logs"].map((name) => `@opentelemetry/${name}@0.208.0`);
/** Every second line as key-value pairs, and all of them twice. */
const EXPORT = `
const { createRequire } = require("node:module");
const [port, key, packages, compression] = process.argv.slice(1);
const load = createRequire(packages + "/");
const { DiagConsoleLogger, DiagLogLevel, diag } = load("@opentelemetry/api");
const { OTLPLogExporter } = load("@opentelemetry/exporter-logs-otlp-http");
const { BatchLogRecordProcessor, LoggerProvider } = load("@opentelemetry/sdk-logs");
console.warn = console.log;
diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);
const url = "http://127.0.0.1:" + port + "/v1/logs";
const exporter = new OTLPLogExporter({ url, headers: { authorization: "Bearer " + key }, compression });
const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor(exporter)] });
const lines = require("node:fs").readFileSync(0, "utf8").split("\\n");
for (const again of [1, 2]) {
  lines.forEach((line, index) =>
    provider.getLogger("pot").emit({ timestamp: new Date(), body: index % 2 ? line : JSON.parse(line) }));
}
provider.getLogger("pot").emit({ body: "nothing that a sensor says" });
provider.shutdown();`;

const stored = defineQuery({
  name: "test-otlp-exporter",
  sql: `SELECT (SELECT count() FROM observations FINAL) AS sessions, (SELECT sum(login_attempts) FROM observations FINAL) AS logins,
      (SELECT groupArray(payload) FROM dead_letters FINAL) AS letters`,
  params: z.object({}),
  row: z.object({ sessions: z.int(), logins: z.int(), letters: z.array(z.string()) }),
});

test.each(["none", "gzip"])(
  "what OpenTelemetry's exporter 0.208 sends twice (compression: %s) is stored once, and it hears of what is not",
  { timeout: 600_000 },
  async (compression) => {
    const packages = await installNpm("otlp-exporter-0.208.0", [...PACKAGES, "@opentelemetry/api@1.9.0"]);
    const world = await createWorld(Date.now);
    const ingest = await ingestOf(world, undefined, Date.now, [KEY]);
    const app = await makeApp(INGEST_OPERATIONS, ingest.register);
    onTestFinished(async () => {
      await app.close();
      await ingest.stop();
      await world.close();
    });
    const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
    const argv = ["-e", EXPORT, port, KEY, packages, compression];
    const said = await runProgram(process.execPath, argv, {}, LINES.join("\n"));
    expect(said).toContain('"rejectedLogRecords":"1"');
    const logins = VISITS.reduce((sum, visit) => sum + visit.logins, 0);
    expect(await run(world.client, stored, {})).toEqual([
      { sessions: VISITS.length, logins, letters: ["nothing that a sensor says"] },
    ]);
  },
);
