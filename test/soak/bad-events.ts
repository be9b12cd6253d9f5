import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { DEAD_LETTERS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { RejectionReason } from "@noisefloor/domain/observation/observation.ts";
import { z } from "zod";
import type { KnownMessage } from "../support/builders/known-events.ts";
import type { Scenario } from "./scenario.ts";

const DAY = 24 * 60 * 60 * 1000;
const ONE_BAD_IN = 100;

/** Twelve kinds of bad records, each with the reason that its dead letter must have. */
const BAD: readonly (readonly [reason: RejectionReason, write: (fine: Record<string, unknown>) => string])[] = [
  ["not-json", () => "{not json"],
  ["not-json", () => ""],
  ["not-json", (fine) => JSON.stringify(fine).slice(0, -1)],
  ["invalid-observation", (fine) => JSON.stringify({ ...fine, source_port: "22" })],
  ["invalid-observation", (fine) => JSON.stringify({ ...fine, sensor_id: undefined })],
  ["invalid-observation", (fine) => JSON.stringify({ ...fine, dataset: "personal" })],
  ["oversize", (fine) => JSON.stringify({ ...fine, rdns: "x".repeat(70_000) })],
  ["too-many-observations", (fine) => Array.from({ length: 1_001 }, () => JSON.stringify(fine)).join("\n")],
  ["source-not-routable", (fine) => JSON.stringify({ ...fine, source_ip: "10.0.0.1" })],
  ["in-the-future", (fine) => JSON.stringify({ ...fine, observed_at: at(Date.now() + DAY) })],
  ["older-than-retention", (fine) => JSON.stringify({ ...fine, observed_at: at(Date.now() - 101 * DAY) })],
  ["unknown-tag", (fine) => JSON.stringify({ ...fine, tags: ["never-heard-of"] })],
];

const deadByReason = defineQuery({
  name: "soak-dead-letters",
  sql: `SELECT reason, count() AS count FROM ${DEAD_LETTERS} FINAL WHERE source = 'kafka' GROUP BY reason`,
  params: z.object({}),
  row: z.object({ reason: z.string(), count: z.int() }),
});

const at = (time: number) => new Date(time).toISOString();

/** One record in a hundred cannot be stored. */
export const badEvents: Scenario = {
  name: "bad",
  promise: "every good event is stored and every bad one is a dead letter, once, with its reason",
  events: { soak: 99_000, test: 9_900 },
  async play(stage, _extent, say) {
    const { events, random, kafka, client } = stage;
    // Beyond the daily quota only a sample would be stored.
    const ingest = await stage.ingest({ DEAD_LETTERS_MIB_PER_DAY: "10000" });
    const bad = Math.round(events.length / (ONE_BAD_IN - 1));
    const expected = new Map<string, number>();
    const messages = Array.from({ length: bad }, (_, number): KnownMessage => {
      const [reason, write] = BAD[number % BAD.length] ?? ["not-json", () => ""];
      expected.set(reason, (expected.get(reason) ?? 0) + 1);
      const fine = { observed_at: at(Date.now()), sensor_id: "s", source_ip: "46.0.0.1", metadata: { bad: number } };
      return { partition: random.int(0, kafka.partitions - 1), value: write(fine), records: 1 };
    });
    await Promise.all([stage.publish(events).done, stage.publishRaw(messages)]);
    await stage.drained();
    const dead = new Map((await run(client, deadByReason, {})).map(({ reason, count }) => [reason, count]));
    const stored = [...dead.values()].reduce((sum, count) => sum + count, 0);
    if (stored !== bad) throw new Error(`${stored} dead letters for ${bad} bad records`);
    for (const [reason, count] of expected) {
      const rejected = await ingest.metric(`noisefloor_ingest_records_total{source="kafka",outcome="${reason}"}`);
      if (dead.get(reason) !== count || rejected !== count) {
        throw new Error(
          `${reason}: ${count} were published, ${dead.get(reason)} are dead letters, /metrics counts ${rejected}`,
        );
      }
    }
    const accepted = await ingest.metric('noisefloor_ingest_records_total{source="kafka",outcome="accepted"}');
    if (accepted !== stage.published()) throw new Error(`${accepted} were accepted, ${stage.published()} published`);
    say(`dead: ${[...dead].map(([reason, count]) => `${reason} ${count}`).join(", ")}`);
    await stage.verify();
    return `${bad} bad in ${BAD.length} ways`;
  },
};
