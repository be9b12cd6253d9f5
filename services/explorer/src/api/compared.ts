import type { TagSummary } from "./operations.ts";

/** Whether observations reach back to the start of the period before, so that a change is known. */
export function isCompared({ stored_from: from, previous_start_date: before }: TagSummary["metadata"]): boolean {
  return from !== "" && from <= before;
}
