import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { provesContact } from "@noisefloor/domain/tags/contact.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { mergePart, type SessionPart, type SessionState } from "./merge.ts";

const NOW = Date.UTC(2026, 10, 20);

function partOf(recordId: string, members: object): SessionPart {
  const sent = { observed_at: new Date(NOW).toISOString(), sensor_id: "s", source_ip: "45.0.0.1", session_id: "1" };
  const valid = validateObservation({ ...sent, ...members }, { now: NOW, retentionDays: 90, right: "everything" });
  if ("reason" in valid) throw new Error(valid.detail);
  return { valid, observationId: "session:1", recordId, tagIds: [], callbacks: [] };
}

const merge = (...parts: readonly SessionPart[]) =>
  parts.reduce<SessionState | undefined>((session, part) => mergePart(session, part), undefined)?.observation;

test("a login is listed once, in whatever order its members come, and whether a text is empty or missing", () => {
  const merged = merge(
    partOf("1", { credentials: [{ username: "root", password: "p" }, { username: "root" }] }),
    partOf("2", {
      credentials: [
        { password: "p", username: "root" },
        { password: "", username: "root" },
      ],
    }),
    partOf("3", { credentials: [{ username: "p", password: "root" }] }),
  );
  expect(merged?.credentials).toEqual([
    { username: "root", password: "p" },
    { username: "root" },
    { username: "p", password: "root" },
  ]);
});

test("a record that comes again changes nothing", () => {
  const part = partOf("1", { credentials: [{ password: "p", username: "u" }], login_attempts: 1, commands: ["id"] });
  expect(merge(part, part, part)).toMatchObject({
    credentials: [{ password: "p", username: "u" }],
    login_attempts: 1,
    commands: ["id"],
  });
});

test("a session proves contact when one of its records does, in whatever order they come, and however often", () => {
  const record = fc.record({
    transport: fc.constantFrom(undefined, "tcp", "udp"),
    established: fc.constantFrom(undefined, true, false),
    commands: fc.constantFrom<string[] | undefined>(undefined, ["id"]),
  });
  const records = fc.array(record, { minLength: 1, maxLength: 5 }).chain((each) => {
    const order = fc.shuffledSubarray([...each, ...each], { minLength: each.length });
    return fc.record({ each: fc.constant(each), order });
  });
  fc.assert(
    fc.property(records, ({ each, order }) => {
      const merged = merge(
        ...[...order, ...each].map((members, index) => {
          const part = partOf(String(index), members);
          part.valid.observation.established = provesContact(part.valid.observation);
          return part;
        }),
      );
      expect(merged?.established).toBe(each.some((members) => provesContact(members)));
    }),
  );
});
