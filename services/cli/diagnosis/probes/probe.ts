import { inTime } from "@noisefloor/domain/time/unless-aborted.ts";

/** What a question about a dependency came to. */
export type Probe<T> = { readonly value: T } | { readonly error: string };

/** The whole command answers within two seconds, its own start included. */
export const PROBE_MS = 1_000;

/** Asks within the time limit. Never rejects. */
export async function probe<T>(ask: () => Promise<T>, timeoutMs: number = PROBE_MS): Promise<Probe<T>> {
  return inTime(ask(), timeoutMs, `no answer within ${timeoutMs / 1_000} s`).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: formatReason(error) }),
  );
}

/** Whether this is the error of a question that was not answered in time. */
export function isLate(error: string): boolean {
  return /^no answer within |Timeout error\.$/.test(error);
}

export function knownOf<T>(result: Probe<T> | undefined): T | undefined {
  return result !== undefined && "value" in result ? result.value : undefined;
}

/** A connection that fails at each of a name's addresses gives an AggregateError without a message. */
export function formatReason(error: unknown): string {
  if (error instanceof AggregateError) return formatReason(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const isWrapped = error.cause instanceof Error && /^fetch failed$/.test(error.message);
  return isWrapped ? formatReason(error.cause) : error.message || error.name;
}
