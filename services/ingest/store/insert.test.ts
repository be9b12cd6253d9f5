import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { expect, test } from "vitest";
import type { AcceptedRecord, IncomingRecord } from "../record.ts";
import type { RowOptions } from "../rows/make-rows.ts";
import { createSessions } from "../rows/sessions/sessions.ts";
import { clickhouseSink } from "./insert.ts";

const NOW = Date.now();

function accept(more: Record<string, unknown> = {}): AcceptedRecord<IncomingRecord> {
  const sent = { observed_at: new Date(NOW).toISOString(), sensor_id: "s", source_ip: "45.0.0.1", ...more };
  const valid = validateObservation(sent, { now: NOW, retentionDays: 90, right: "everything" });
  if ("reason" in valid) throw new Error(valid.detail);
  return { record: { bytes: Buffer.from(JSON.stringify(sent)), fallbackId: "t/0/0" }, valid, tagIds: [] };
}

/** What happens in which order, while one record is stored. */
async function stepsOf(one: AcceptedRecord<IncomingRecord>, more: (step: (name: string) => void) => RowOptions) {
  const steps: string[] = [];
  const step = (name: string) => void steps.push(name);
  const queue = {
    async store() {
      step("store");
      await new Promise(setImmediate);
      step("stored");
      return [];
    },
  };
  await clickhouseSink(queue, more(step))({ accepted: [one], rejected: [] }, { onWaiting: () => step("waiting") });
  return steps;
}

test("others may work on as soon as nothing but waiting is left: for the store, for names, for stored sessions", async () => {
  expect(await stepsOf(accept(), () => ({}))).toEqual(["store", "waiting", "stored"]);
  const prepare = (step: (name: string) => void) => ({ prepare: async () => step("names") });
  expect(await stepsOf(accept(), prepare)).toEqual(["waiting", "names", "store", "waiting", "stored"]);
  const sessions = (step: (name: string) => void) => ({
    sessions: createSessions(async () => {
      step("sessions");
      return [];
    }),
  });
  const ofSession = accept({ session_id: "a" });
  expect(await stepsOf(ofSession, sessions)).toEqual(["waiting", "sessions", "store", "waiting", "stored"]);
  expect(await stepsOf(accept(), sessions)).toEqual(["store", "waiting", "stored"]);
});
