import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { retry } from "@noisefloor/domain/time/retry.ts";
import type { Logger } from "pino";
import { z } from "zod";
import type { FollowedPiece } from "./content/reading.ts";
import type { StorePiece } from "./follower.ts";

/** What another intake did with what it was sent. */
export type ForwardCounts = { accepted: number; rejected: number; ignored: number };

export type ForwardOptions = {
  /** The other intake, without a slash at its end. */
  readonly url: string;
  /** A sensor's key; undefined where it needs none. */
  readonly key: string | undefined;
  readonly onCounts: (counts: ForwardCounts) => void;
  readonly signal: AbortSignal;
  readonly log: Logger;
};

const answerSchema = z.object({ accepted: z.int(), rejected: z.int(), ignored: z.int() });
const messageSchema = z.object({ message: z.string() });

/** The other intake does not answer, or not now. */
class AwayError extends Error {}

/** An answer takes as long as the intake waits for its store. */
const TIMEOUT_MS = 150_000;

/**
 * Sends records as they stand in their file to another intake, which decodes them. The request is named after where it
 * begins: sent again by a process that did not learn of the answer, its records are the same.
 */
export function forwardPieces({ url, key, onCounts, signal, log }: ForwardOptions): StorePiece {
  let isAway = false;
  const send = async (piece: FollowedPiece): Promise<ForwardCounts> => {
    const { file, header, raw } = piece;
    const target = new URL(`${url}/v1/observations`);
    target.searchParams.set("format", file.format);
    if (file.sensor !== "") target.searchParams.set("sensor", file.sensor);
    const response = await fetch(target, {
      method: "POST",
      body: await promisify(gzip)(join([...header, ...raw]), { level: 1 }),
      headers: {
        "content-encoding": "gzip",
        "idempotency-key": `${file.id}/${file.position}`,
        ...(key !== undefined && { key }),
      },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    }).catch((error: unknown) => {
      throw new AwayError(`${url} does not answer: ${reasonOf(error)}`);
    });
    const body: unknown = await response.json().catch(() => undefined);
    const counts = answerSchema.safeParse(body);
    if (counts.success && [202, 422].includes(response.status)) return counts.data;
    const message = `${url} answered ${response.status}: ${messageSchema.safeParse(body).data?.message ?? "without a message"}`;
    throw response.status === 429 || response.status >= 500 ? new AwayError(message) : new Error(message);
  };
  return (piece) => {
    const stored = retry(() => send(piece), {
      forMs: Number.POSITIVE_INFINITY,
      isTransient: (error) => error instanceof AwayError,
      pauses: { firstMs: 500, maxMs: 30_000 },
      signal,
      onRetry(error) {
        if (!isAway) log.warn({ err: error }, "sending records failed, retrying");
        isAway = true;
      },
    }).then((counts) => {
      if (isAway) log.info("records are sent again");
      isAway = false;
      onCounts(counts);
    });
    return { prepared: stored, stored };
  };
}

/** A line each. */
const join = (records: readonly Buffer[]) => Buffer.concat(records.flatMap((record) => [record, NEWLINE]));
const NEWLINE = Buffer.from("\n");

/** The cause says more than "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
