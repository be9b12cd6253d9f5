import { runSensorsList } from "@noisefloor/cli/commands/access/sensors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { sensorRecords } from "../../support/intake/sensor-records.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld } from "../../support/worlds/world.ts";

const text = (value: unknown) => JSON.stringify(value);
const cowrie = (eventid: string, more: object) => ({
  ...{
    eventid: `cowrie.${eventid}`,
    timestamp: new Date(Date.now() - 3_600_000).toISOString(),
    sensor: "pot",
    ...more,
  },
});
const visit = { src_ip: "45.83.64.1", session: "one", "t-pot_hostname": "pot" };
const KNOWN = [cowrie("session.connect", visit), cowrie("login.failed", { ...visit, username: "a" })];
const RECORDS = [
  ...KNOWN,
  ...KNOWN.map((record) => ({ message: text(record), agent: { name: "pot" } })),
  ...KNOWN.map((record) => ({ _index: "x", _source: record })),
  cowrie("client.size", visit),
  cowrie("session.closed", visit),
  cowrie("login.failed", { session: "no-source" }),
  cowrie("session.connect", { ...visit, src_ip: "10.0.0.1" }),
  { totally: "unrelated" },
].map(text);
const BROKEN = ['{"eventid":"cowrie.login.failed","username":"ro', "no JSON at all", '{"a":'];

const counted = z.object({ accepted: z.int(), rejected: z.int(), ignored: z.int() });
/** A bulk request's answer counts nothing: it says of each document what became of it. */
const outcomes = z
  .object({ items: z.array(z.record(z.string(), z.object({ result: z.string().default("rejected") }))) })
  .transform(({ items }) => {
    const results = items.flatMap((item) => Object.values(item));
    const count = (name: string) => results.filter(({ result }) => result === name).length;
    return { accepted: count("created"), rejected: count("rejected"), ignored: count("noop") };
  });
const answers = counted.or(outcomes);
const byReason = z.record(z.string(), z.int());
const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);
const listed = z.object({ sensors: z.array(z.object({ seven_days: sensorRecords })) });
const deadLetters = defineQuery({
  name: "test-count-dead-letters",
  sql: "SELECT count() AS letters FROM dead_letters FINAL",
  params: z.object({}),
  row: z.object({ letters: z.int() }),
});

/** The ways by HTTP: where records are posted, and how a body holds them. */
const WAYS: readonly (readonly [url: string, isLines: boolean, body: (records: readonly string[]) => string])[] = [
  ["/v1/observations?format=auto", true, (records) => records.join("\n")],
  ["/v1/observations?format=cowrie", true, (records) => records.join("\n")],
  ["/v1/observations?format=suricata-eve", true, (records) => records.join("\n")],
  ["/v1/observations", true, (records) => records.join("\r\n")],
  ["/v1/observations/lines?format=auto", true, (records) => records.join("\n")],
  ["/v1/observations?format=auto", false, (records) => `[${records.join(",\n")}]`],
  ["/", false, (records) => `[${records.join()}]`],
  ["/services/collector/event", false, (records) => records.map((record) => `{"event":${record}}`).join("")],
  ["/_bulk", true, (records) => records.map((record) => `{"create":{}}\n${record}\n`).join("")],
  ["/cowrie/_bulk", true, (records) => records.map((record) => `{"index":{}}\n${record}\n`).join("")],
  [
    "/services/collector/event",
    true,
    (records) => records.map((record) => text({ event: record, host: "pot" })).join(""),
  ],
];

test("all that is sent is accepted, rejected or ignored: in the answer, in the list of sensors, in the dead letters", async () => {
  const world = await createWorld(Date.now);
  const ingest = await ingestOf(world, undefined, Date.now, []);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  const total = { accepted: 0, rejected: 0, ignored: 0 };
  let requests = 0;
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...WAYS),
        fc.array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...RECORDS) }, fc.constantFrom(...BROKEN)), {
          ...{ minLength: 1, maxLength: 20 },
        }),
        async ([url, isLines, body], chosen) => {
          const readable = isLines ? chosen : chosen.filter((record) => !BROKEN.includes(record));
          // No two requests are the same: dead letters of one that is sent again are there once.
          const records = [...readable, text({ totally: "unrelated", request: requests++ })];
          const response = await app.inject({ method: "POST", url, payload: body(records) });
          expectDescribed("POST", url.split("?")[0] ?? "", response.statusCode, response.json());
          const answer = response.json();
          const counts = answers.parse(answer);
          expect([url, sum({ ...counts })]).toEqual([url, records.length]);
          if ("reasons" in answer) {
            expect(sum(byReason.parse(answer.reasons))).toBe(counts.rejected);
            expect(sum(byReason.parse(answer.ignored_reasons))).toBe(counts.ignored);
          }
          for (const name of ["accepted", "rejected", "ignored"] as const) total[name] += counts[name];
        },
      ),
      // By chance alone no record might be ignored.
      { numRuns: 40, examples: WAYS.map((way) => [way, [...RECORDS, ...BROKEN]]) },
    );
    expect(Object.values(total).every((count) => count > 0)).toBe(true);
  } finally {
    await app.close();
    await ingest.stop();
  }
  const command = commandOver(world);
  await runSensorsList({ json: true }, command);
  const { sensors } = listed.parse(JSON.parse(command.lines[0] ?? ""));
  for (const name of ["accepted", "rejected", "ignored"] as const) {
    expect([name, sensors.reduce((counted, { seven_days }) => counted + seven_days[name], 0)]).toEqual([
      name,
      total[name],
    ]);
  }
  expect(await run(world.client, deadLetters, {})).toEqual([{ letters: total.rejected }]);
  await world.close();
});
