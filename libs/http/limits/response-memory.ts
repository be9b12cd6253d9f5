import type { FastifyRequest } from "fastify";
import { callerOf, type LimitedCaller } from "./caller.ts";
import { type OnRejected, REJECTION_ERRORS, responseTooLargeError } from "./rejections.ts";
import { createHoldings, type Holdings, type Shares } from "./shares.ts";

/** One response's memory, from its first bytes until its client has read it. */
export type ResponseReservation = {
  /** @throws HttpError 429 when the caller's share is used up, 503 when all memory is. */
  grow(bytes: number): void;
  shrink(bytes: number): void;
  /** Releases the rest; further calls do nothing. */
  release(): void;
};

/** Bounds the bytes of responses that their clients have not read yet, per caller and in total. */
export type ResponseMemory = {
  reserve(request: FastifyRequest): ResponseReservation;
  used(): number;
};

export function createResponseMemory(shares: Shares, onRejected: OnRejected): ResponseMemory {
  const holdings = createHoldings(shares);
  return { used: holdings.used, reserve: (request) => new Reservation(request, holdings, onRejected) };
}

/** A class, as each request has one: functions of its own would have to be made for each. */
class Reservation implements ResponseReservation {
  readonly #request: FastifyRequest;
  readonly #holdings: Holdings;
  readonly #onRejected: OnRejected;
  #caller: LimitedCaller | undefined;
  #own = 0;
  #isReleased = false;

  constructor(request: FastifyRequest, holdings: Holdings, onRejected: OnRejected) {
    this.#request = request;
    this.#holdings = holdings;
    this.#onRejected = onRejected;
  }

  grow(bytes: number): void {
    // The client has disconnected.
    if (this.#isReleased) return;
    // Only now: when the request arrived, its key was not checked yet.
    this.#caller ??= callerOf(this.#request);
    const max = this.#holdings.maxFor(this.#caller);
    if (this.#own + bytes > max) {
      this.#onRejected("answer_too_large");
      throw responseTooLargeError(max);
    }
    const exhausted = this.#holdings.take(this.#caller, bytes);
    if (exhausted !== undefined) {
      const reason = exhausted === "caller" ? "caller_memory" : "memory";
      this.#onRejected(reason);
      throw REJECTION_ERRORS[reason];
    }
    this.#own += bytes;
  }

  shrink(bytes: number): void {
    const released = Math.min(bytes, this.#own);
    if (this.#caller !== undefined && released > 0) this.#holdings.release(this.#caller, released);
    this.#own -= released;
  }

  release(): void {
    this.#isReleased = true;
    this.shrink(this.#own);
  }
}
