import { runSensorsList } from "@noisefloor/cli/commands/access/sensors.ts";
import { startSensorReport } from "@noisefloor/cli/process/reports/sensor-report.ts";
import { type ActivityRow, writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openSensorKeyWorld, type SensorKeyWorld } from "../../support/intake/sensor-key-world.ts";
import { sensorRecords } from "../../support/intake/sensor-records.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";

const HOUR = 3_600_000;
const GLOBAL = { dataset: "global", workspaceId: "" } as const;
let keys: SensorKeyWorld;
beforeEach(async () => {
  keys = await openSensorKeyWorld(Date.now);
});
afterEach(() => keys.close());

const listSchema = z.object({
  sensors: z.array(
    z.object({
      sensor: z.string().nullable(),
      source: z.string(),
      key: z.string().nullable(),
      state: z.string(),
      formats: z.array(z.string()),
      today: sensorRecords,
      seven_days: sensorRecords,
    }),
  ),
});

async function listed() {
  const command = commandOver(keys.world);
  await runSensorsList({ json: true }, command);
  return listSchema.parse(JSON.parse(command.lines[0] ?? "")).sensors;
}

/** An intake that ends, as a restart of the service does. */
async function intake() {
  const ingest = await ingestOf(keys.world, undefined, Date.now);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  const stop = async () => {
    await app.close();
    await ingest.stop();
  };
  return { app, stop };
}

test("what each sensor sent is counted exactly by key, sensor and reason, over restarts of the intake", async () => {
  const key = await keys.addKey(GLOBAL, "cellar");
  const { id: keyId } = await keys.findKey(key);
  for (let run = 0; run < 3; run++) {
    const { app, stop } = await intake();
    await keys.world.accessCache.refresh();
    const good = Array.from({ length: 5 }, () => keys.observation({ sensor_id: "cellar" }));
    await keys.post(good, key, app);
    await keys.post(
      [keys.observation({ sensor_id: "roof" }), keys.observation({ sensor_id: "cellar", tags: ["nothing"] })],
      key,
      app,
    );
    await stop();
  }
  const sensors = await listed();
  expect(sensors.map(({ sensor }) => sensor)).toEqual(["cellar", "roof"]);
  const [cellar, roof] = sensors;
  expect(cellar).toMatchObject({ sensor: "cellar", source: "http", key: keyId, state: "active" });
  expect(cellar?.formats).toEqual(["observations"]);
  expect(cellar?.seven_days).toEqual({ accepted: 15, rejected: 3, ignored: 0, reasons: { "unknown-tag": 3 } });
  expect(roof).toMatchObject({
    sensor: "roof",
    key: keyId,
    seven_days: { accepted: 0, reasons: { "not-permitted": 3 } },
  });
});

test("a key that never sent is listed as never, and any other with the time of its last record", async () => {
  const [used, unused] = [await keys.addKey(GLOBAL, "cellar"), await keys.addKey(GLOBAL, "roof")];
  const [{ id: keyId }, { id: unusedId }] = [await keys.findKey(used), await keys.findKey(unused)];
  const { app, stop } = await intake();
  await keys.world.accessCache.refresh();
  await keys.post([keys.observation({ sensor_id: "cellar" })], used, app);
  await stop();
  const command = commandOver(keys.world);
  await runSensorsList({ json: false }, command);
  const lineOf = (id: string) => command.lines.find((line) => line.startsWith(id));
  expect(lineOf(keyId)).toMatch(/ \d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(lineOf(unusedId)).toMatch(/ never$/);
});

test("counts that are written twice count once, and the larger of two counts is the count", async () => {
  const hour = Math.floor(Date.now() / HOUR) * HOUR;
  const row: ActivityRow = {
    ...{
      hour,
      source: "kafka",
      keyId: "",
      workspaceId: "",
      sensorId: "tap",
      isRest: false,
      format: "cowrie",
      outcome: "accepted",
    },
    ...{ process: "11111111-1111-4111-8111-111111111111", records: 7, lastAt: Date.now() },
  };
  const { client } = keys.world;
  await writeSensorCounts(client, [row]);
  await writeSensorCounts(client, [row]);
  await writeSensorCounts(client, [{ ...row, records: 10 }]);
  await writeSensorCounts(client, [{ ...row, process: "22222222-2222-4222-8222-222222222222", records: 100 }]);
  expect((await listed()).map(({ sensor, seven_days }) => [sensor, seven_days.accepted])).toEqual([["tap", 110]]);
});

test("a sensor that falls silent is in the log once and in the metrics, whatever way its records came", async () => {
  const at = Date.now();
  const hours = [30, 28, 26, 24, 22];
  const rows = ["kafka", "http", "hpfeeds"].flatMap((source) =>
    hours.map((ago): ActivityRow => {
      const lastAt = at - ago * HOUR;
      return {
        ...{
          hour: Math.floor(lastAt / HOUR) * HOUR,
          source,
          keyId: "",
          workspaceId: "",
          sensorId: `by-${source}`,
          isRest: false,
        },
        ...{ format: "cowrie", outcome: "accepted", process: "11111111-1111-4111-8111-111111111111" },
        ...{ records: 1, lastAt },
      };
    }),
  );
  await writeSensorCounts(keys.world.client, rows);
  const metrics = createMetrics();
  const warned: object[] = [];
  const log = { warn: (fields: object) => void warned.push(fields), info: silent.info.bind(silent) };
  const report = startSensorReport(keys.world.client, { metrics, log, now: () => at, isPublic: true });
  await report.refresh();
  await report.refresh();
  report.stop();
  expect(warned).toHaveLength(3);
  expect(warned).toContainEqual(expect.objectContaining({ sensor: "by-kafka", source: "kafka" }));
  const text = await metrics.text();
  expect(text).toContain("noisefloor_sensors_silent 3");
  expect(text).toContain('noisefloor_sensor_silent{sensor="by-http",source="http",key=""} 1');
  expect((await listed()).map(({ state }) => state)).toEqual(["silent", "silent", "silent"]);
});

test("metrics that everyone may read name no sensor and no key of personal data, but count and log them", async () => {
  const lastAt = Date.now() - 40 * HOUR;
  const rowOf = (sensorId: string, own: Partial<ActivityRow> = {}): ActivityRow[] =>
    [0, 2, 4].map((ago) => ({
      ...{ hour: Math.floor(lastAt / HOUR - ago) * HOUR, source: "http", keyId: "", workspaceId: "", sensorId },
      ...{ isRest: false, format: "", outcome: "accepted", process: "11111111-1111-4111-8111-111111111111" },
      ...{ records: 100, lastAt: lastAt - ago * HOUR, ...own },
    }));
  await writeSensorCounts(keys.world.client, [
    ...rowOf("of-all"),
    ...rowOf("of-a-team", { workspaceId: "team", keyId: "key-of-team" }),
    ...rowOf("by-topic", { workspaceId: "team", source: "kafka" }),
    // Without a key, a rejected record is of no workspace.
    ...rowOf("by-topic", { source: "kafka", outcome: "not-permitted" }),
  ]);
  const scrape = async (isPublic: boolean) => {
    const metrics = createMetrics();
    const warned: object[] = [];
    const log = { warn: (fields: object) => void warned.push(fields), info: silent.info.bind(silent) };
    const report = startSensorReport(keys.world.client, { metrics, log, now: Date.now, isPublic });
    await report.refresh();
    report.stop();
    expect(warned).toHaveLength(3);
    const text = await metrics.text();
    expect(text).toContain("noisefloor_sensors 3");
    expect(text).toContain('noisefloor_sensor_silent{sensor="of-all",source="http",key=""} 1');
    return text;
  };
  expect(await scrape(true)).not.toMatch(/of-a-team|key-of-team|by-topic/);
  expect(await scrape(false)).toContain('sensor="of-a-team",source="http",key="key-of-team"} 1');
});
