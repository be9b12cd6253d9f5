import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { expect, test } from "vitest";
import type { SessionPart } from "./merge.ts";
import { createSessions } from "./sessions.ts";

const NOW = Date.UTC(2026, 10, 20);
const SESSIONS = 20;

/** As many records, in turn of each session, with a tag. */
function partsOf(records: number, tagId: string): SessionPart[] {
  return Array.from({ length: records }, (_, index) => {
    const session = `session-${index % SESSIONS}`;
    const sent = {
      observed_at: new Date(NOW).toISOString(),
      sensor_id: "s",
      source_ip: "45.0.0.1",
      session_id: session,
    };
    const valid = validateObservation(sent, { now: NOW, retentionDays: 90, right: "everything" });
    if ("reason" in valid) throw new Error(valid.detail);
    return { valid, recordId: `${tagId}-${index}`, tagIds: [tagId], callbacks: [], observationId: session };
  });
}

test("of batches that join the same sessions at once, each has what came before it and nothing of those behind it", async () => {
  const sessions = createSessions(async () => []);
  const joined = await Promise.all(["first", "second", "third"].map((tagId) => sessions.join(partsOf(3_000, tagId))));
  const tagsOf = joined.map(({ states }) => [...new Set(states.map(({ tagIds }) => tagIds.join()))]);
  expect(tagsOf).toEqual([["first"], ["first,second"], ["first,second,third"]]);
  for (const { states, release } of joined) {
    expect(states).toHaveLength(3_000);
    expect(new Set(states).size).toBe(SESSIONS);
    release();
  }
});

test("others have their turn while a batch of many records joins its sessions", async () => {
  const sessions = createSessions(async () => []);
  const parts = partsOf(5_000, "tag");
  let turns = 0;
  let pending = setImmediate(function count() {
    turns++;
    pending = setImmediate(count);
  });
  const { release } = await sessions.join(parts);
  clearImmediate(pending);
  release();
  // One for about 500 records.
  expect(turns).toBeGreaterThan(5);
});
