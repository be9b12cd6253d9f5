import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
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
