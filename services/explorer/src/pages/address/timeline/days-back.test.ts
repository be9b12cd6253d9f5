import { expect, test } from "vitest";
import { daysBackTo } from "./days-back.ts";

test("a timeline reaches back to where its address was seen last, at least a week", () => {
  const now = Date.parse("2026-11-20T14:30:00Z");
  const after = (lastSeen: string) => daysBackTo(lastSeen, now);
  expect(after("2026-11-20 14:29:00")).toBe("7");
  expect(after("2026-11-14 14:29:00")).toBe("7");
  // Within the hour before a week: it would leave the chart while its reader looks at it.
  expect(after("2026-11-13 14:45:00")).toBe("30");
  expect(after("2026-10-11T00:00:00Z")).toBe("90");
  expect(after("2026-01-01 00:00:00")).toBe("90");
});
