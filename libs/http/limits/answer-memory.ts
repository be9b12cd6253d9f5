import type { FastifyRequest } from "fastify";
import { callerOf, type LimitedCaller } from "./caller.ts";
import { type OnRejected, rejectionError } from "./rejections.ts";
import { createHoldings, type Shares } from "./shares.ts";

/** What one answer takes of the memory for answers, from its first bytes until its client has read it. */
export type AnswerReservation = {
  /** @throws HttpError 429 when the caller's share is used up, 503 when everybody's is. */
  grow(bytes: number): void;
  shrink(bytes: number): void;
  /** Gives back the rest; called more than once it does nothing. */
  release(): void;
};

/** Bounds the bytes of answers that are made but not read yet, per caller and in all. */
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
      const giveBack = (bytes: number) => {
        if (caller !== undefined && bytes > 0) holdings.giveBack(caller, bytes);
        own -= bytes;
      };
      return {
        grow(bytes) {
          // Nobody waits for it any more.
          if (isReleased) return;
          // Not before: whose key it is was not known when the request came.
          caller ??= callerOf(request);
          const most = holdings.mostFor(caller);
          if (own + bytes > most) {
            onRejected("answer_too_large");
            throw rejectionError.answer_too_large(most);
          }
          const exhausted = holdings.take(caller, bytes);
          if (exhausted !== undefined) {
            const reason = exhausted === "caller" ? "caller_memory" : "memory";
            onRejected(reason);
            throw rejectionError[reason]();
          }
          own += bytes;
        },
        shrink: (bytes) => giveBack(Math.min(bytes, own)),
        release() {
          isReleased = true;
          giveBack(own);
        },
      };
    },
  };
}
