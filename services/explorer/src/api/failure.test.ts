import { expect, test } from "vitest";
import { explain } from "./failure.ts";

test("each kind of failure says what to do, and an unknown one does, too", () => {
  const titles = [0, 400, 401, 403, 404, 429, 503, 500].map((status) => {
    const { title, remedy } = explain(status);
    expect(remedy).toMatch(/\.$/);
    return title;
  });
  expect(new Set(titles).size).toBe(titles.length);
  expect(explain(502)).toEqual(explain(500));
});
