import { DEAD_LETTER_SOURCES } from "@noisefloor/clickhouse/tables/dead-letters.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import type { DeadLetterFilter } from "@noisefloor/ingest/dead-letters/read.ts";
import { UserError } from "../../framework/command.ts";
import { readSince } from "../../framework/since.ts";

export type FilterOptions = {
  readonly reason?: string | undefined;
  readonly source?: string | undefined;
  readonly since?: string | undefined;
};

/** Throws a UserError when an option names a reason, source or time that does not exist. */
export function readFilter(
  { reason, source, since }: FilterOptions,
  includeDone: boolean,
  now: number,
): DeadLetterFilter {
  const reasons: readonly string[] = REJECTION_REASONS;
  if (reason !== undefined && !reasons.includes(reason)) {
    throw new UserError(`there is no reason "${reason}"; there are ${reasons.join(", ")}`);
  }
  const known = DEAD_LETTER_SOURCES.find((name) => name === source);
  if (source !== undefined && known === undefined) {
    throw new UserError(`there is no source "${source}"; there are ${DEAD_LETTER_SOURCES.join(", ")}`);
  }
  return { reason, source: known, since: since === undefined ? undefined : readSince(since, now), includeDone };
}
