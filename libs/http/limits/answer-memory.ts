import type { FastifyRequest } from "fastify";
import { callerOf, type LimitedCaller } from "./caller.ts";
import { answerTooLargeError, type OnRejected, REJECTION_ERRORS } from "./rejections.ts";
import { createHoldings, type Shares } from "./shares.ts";

/** One answer's memory, from its first bytes until its client has read it. */
export type AnswerReservation = {
  /** @throws HttpError 429 when the caller's share is used up, 503 when all memory is. */
  grow(bytes: number): void;
  shrink(bytes: number): void;
  /** Releases the rest; further calls do nothing. */
  release(): void;
};

/** Bounds the bytes of answers that their clients have not read yet, per caller and in total. */
export type AnswerMemory = {
  reserve(request: FastifyRequest): AnswerReservation;
  used(): number;
};

export function createAnswerMemory(shares: Shares, onRejected: OnRejected): AnswerMemory {
  const holdings = createHoldings(shares);
  return {
    used: holdings.used,
    reserve(request) {
      let caller: LimitedCaller | undefined;
      let own = 0;
      let isReleased = false;
      const releaseBytes = (bytes: number) => {
        if (caller !== undefined && bytes > 0) holdings.release(caller, bytes);
        own -= bytes;
      };
      return {
        grow(bytes) {
          // The client has disconnected.
          if (isReleased) return;
          // Only now: when the request arrived, its key was not checked yet.
          caller ??= callerOf(request);
          const max = holdings.maxFor(caller);
          if (own + bytes > max) {
            onRejected("answer_too_large");
            throw answerTooLargeError(max);
          }
          const exhausted = holdings.take(caller, bytes);
          if (exhausted !== undefined) {
            const reason = exhausted === "caller" ? "caller_memory" : "memory";
            onRejected(reason);
            throw REJECTION_ERRORS[reason];
          }
          own += bytes;
        },
        shrink: (bytes) => releaseBytes(Math.min(bytes, own)),
        release() {
          isReleased = true;
          releaseBytes(own);
        },
      };
    },
  };
}
