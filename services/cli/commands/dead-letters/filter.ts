import type { DeadLetterFilter } from "@noisefloor/clickhouse/dead-letters/dead-letter-selection.ts";
import { DEAD_LETTER_SOURCES } from "@noisefloor/clickhouse/dead-letters/dead-letters.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import { UserError } from "../../framework/command.ts";
import { readSince } from "../../framework/since.ts";

export type FilterOptions = {
  readonly reason?: string | undefined;
  readonly source?: string | undefined;
  /** The request, file or message, or the beginning of its name. */
  readonly origin?: string | undefined;
  readonly sensor?: string | undefined;
  /** The id of a sensor's key. */
  readonly key?: string | undefined;
  readonly since?: string | undefined;
  readonly before?: string | undefined;
};

/** Whether any option narrows the selection. */
export function isFilteredBy({ reason, source, origin, sensor, key, since, before }: FilterOptions): boolean {
  return [reason, source, origin, sensor, key, since, before].some((option) => option !== undefined);
}

/** Throws a UserError when an option names a reason, source or time that does not exist. */
export function readFilter(
  { reason, source, origin, sensor, key, since, before }: FilterOptions,
  includeDone: boolean,
  now: number,
): DeadLetterFilter {
  const reasons: readonly string[] = REJECTION_REASONS;
  if (reason !== undefined && !reasons.includes(reason)) {
    throw new UserError(`there is no reason "${reason}"; there are ${reasons.join(", ")}`);
  }
  const sourceName = DEAD_LETTER_SOURCES.find((name) => name === source);
  if (source !== undefined && sourceName === undefined) {
    throw new UserError(`there is no source "${source}"; there are ${DEAD_LETTER_SOURCES.join(", ")}`);
  }
  const timeOf = (text: string | undefined, option: string) =>
    text === undefined ? undefined : readSince(text, now, option);
  return {
    reason,
    source: sourceName,
    origin,
    sensorId: sensor,
    keyId: key,
    since: timeOf(since, "--since"),
    before: timeOf(before, "--before"),
    includeDone,
  };
}
