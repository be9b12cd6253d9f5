import { afterAll } from "vitest";
import { failOnHeaderFaults } from "./oracle/answer-headers.ts";
import { takeCounts } from "./timings/counts.ts";

failOnHeaderFaults();
// The first hook declared is the last to run, after the file has closed what it opened.
// biome-ignore lint/correctness/noEmptyPattern: Vitest accepts nothing but a pattern in this place
afterAll(({}, file) => {
  file.meta.counts = takeCounts();
});
