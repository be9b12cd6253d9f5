import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createDashboardViews } from "@noisefloor/clickhouse/schema/dashboard-views.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../support/builders/observation.ts";
import { expandQuery } from "../support/grafana/expand.ts";
import { ask } from "../support/grafana/users.ts";
import { runProgram } from "../support/programs.ts";
import { openConsumingWorld } from "../support/worlds/consuming-world.ts";
import { runInProcess } from "../support/worlds/in-process.ts";
import { makeTag } from "../support/worlds/world.ts";

const HOUR_MS = 3_600_000;
const NOW = Date.now();
const SCANNER = "192.175.48.6";
const fileOf = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

/** A store, an intake that reads a topic, and the interface over them. @returns also what tells a program where they are. */
async function openWorld() {
  const opened = await openConsumingWorld(() => NOW);
  onTestFinished(() => opened.close());
  const { kafka, world } = opened;
  const environment = {
    KAFKA_BROKERS: kafka.connection.brokers.join(","),
    KAFKA_TOPIC: kafka.topic,
    NOISEFLOOR_URL: await world.app.listen({ host: "127.0.0.1", port: 0 }),
  };
  return { world, environment };
}

test("examples/sensor.mjs gets an answer about what it has published", async () => {
  const { environment } = await openWorld();
  const answer: unknown = JSON.parse(await runProgram(process.execPath, [fileOf("sensor.mjs"), SCANNER], environment));
  expect(answer).toMatchObject({ ip: SCANNER, noise: true, last_seen: new Date(NOW).toISOString().slice(0, 10) });
});

test("examples/quiet.py leaves out the lines of scanners, and says why a call failed", async () => {
  const { world, environment } = await openWorld();
  await world.store([observation(SCANNER, NOW - HOUR_MS)]);
  const log = (address: string) => `sshd[811]: Invalid user admin from ${address} port 40110\n`;
  const lines = [log(SCANNER), log("9.9.9.9"), "sshd[811]: Server listening\n"];
  expect(await runProgram("python3", [fileOf("quiet.py")], environment, lines.join(""))).toBe(lines.slice(1).join(""));
  const wrong = runProgram("python3", [fileOf("quiet.py")], { ...environment, NOISEFLOOR_KEY: "wrong" }, log(SCANNER));
  await expect(wrong).rejects.toThrow(/ended with 1: 401: /);
});

test("examples/field-map.yaml reads examples/field-map.ndjson", async () => {
  const { code, stdout } = await runInProcess(
    ["formats", "test", fileOf("field-map.yaml"), fileOf("field-map.ndjson"), "--json"],
    {},
  );
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ read: 3, accepted: 2, ignored: 1, rejected: 0 });
});

test("the rules in examples have no errors, and their examples match", async () => {
  const folder = fileOf("rules");
  expect(await runInProcess(["tags", "lint", folder], {})).toMatchObject({ code: 0 });
  const tested = await runInProcess(["tags", "test", folder, "--json"], {});
  expect(JSON.parse(tested.stdout)).toMatchObject({ rules: 1, examples: 1, counterexamples: 1 });
});

test("the panel of examples/grafana-dashboard.json shows the addresses of each hour", async () => {
  const schema = z.object({
    panels: z.tuple([z.object({ targets: z.tuple([z.object({ rawSql: z.string() })]) })]),
  });
  const dashboard = schema.parse(JSON.parse(await readFile(fileOf("grafana-dashboard.json"), "utf8")));
  const { world } = await openWorld();
  await createDashboardViews(world.client, []);
  await world.addTags([makeTag("ssh-scanner", "unknown")]);
  const hour = Math.floor(NOW / HOUR_MS) * HOUR_MS - HOUR_MS;
  const seen = (address: string, at: number) => observation(address, at, { tags: ["ssh-scanner"] });
  await world.store([seen(SCANNER, hour), seen("9.9.9.9", hour + 1_000), seen(SCANNER, hour - HOUR_MS)]);
  const range = { from: NOW - 24 * HOUR_MS, to: NOW, interval: HOUR_MS, variables: {} };
  const sql = expandQuery(dashboard.panels[0].targets[0].rawSql, range);
  const settings = { database: world.connection.database, default_format: "TSV" };
  const { text } = await ask(world.connection, sql.replace("SELECT hour", "SELECT toUnixTimestamp(hour)"), settings);
  expect(text).toBe(`${(hour - HOUR_MS) / 1_000}\t1\n${hour / 1_000}\t2`);
});
