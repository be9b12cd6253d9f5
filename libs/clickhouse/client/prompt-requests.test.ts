import sleeping from "@clickhouse/client/dist/common/utils/sleep.js";
import { expect, test } from "vitest";
import { sendRequestsPromptly } from "./prompt-requests.ts";

test("a timer that has expired runs before the client goes on, as that of an idle connection has to", async () => {
  sendRequestsPromptly();
  let hasRun = false;
  setTimeout(() => {
    hasRun = true;
  }, 1);
  for (const start = performance.now(); performance.now() < start + 5; ) {
    // Too busy for the timer.
  }
  await sleeping.sleep(0);
  expect(hasRun).toBe(true);
});
