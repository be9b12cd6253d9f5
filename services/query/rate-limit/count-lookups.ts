import { clientNetwork } from "@noisefloor/domain/address/client-address.ts";
import type { Deadline } from "@noisefloor/http/requests/deadline.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuthorizedCaller } from "../auth.ts";
import { limitBody } from "../wire.ts";
import type { LookupLimit } from "./limit.ts";

/**
 * Counts lookups, one for every address whose record is returned, then runs them. API, "What counts as a lookup".
 * Sets the `RateLimit-*` header fields. Refunds lookups that fail with another error than a 404.
 * @throws HttpError 429 when fewer are left than requested; then none is counted.
 */
export type CountLookups = <T>(requested: RequestedLookups, lookUp: () => Promise<T>) => Promise<T>;

export type RequestedLookups = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: AuthorizedCaller;
  /** Distinct routable addresses. */
  readonly lookups: number;
  readonly deadline: Deadline;
};

export type CountLookupsOptions = {
  readonly limit: LookupLimit;
  /** Called with the caller's plan for each rejected request. */
  readonly onRejected: (plan: string) => void;
  /** The page that the error response links to. */
  readonly plansUrl: string;
};

export function lookupCounting({ limit, onRejected, plansUrl }: CountLookupsOptions): CountLookups {
  return async ({ request, reply, caller, lookups, deadline }, lookUp) => {
    const result = await limit.take(caller, clientOf(request, caller), lookups);
    reply.headers(result.headers);
    if (!result.isGranted) {
      onRejected(caller.plan);
      const { plan } = caller;
      const { message, ...body } = limitBody(
        { plan, limit: result.limit ?? 0, remaining: result.remaining, lookups },
        plansUrl,
      );
      throw new HttpError(429, message, body);
    }
    let refunded: Promise<void> | undefined;
    const refund = () => {
      refunded ??= result.refund();
      return refunded;
    };
    // Stays after the lookups: the response may still time out, and a 503 counts no lookups.
    const cancelRefund = deadline.onAbort(() => void refund());
    try {
      const found = await lookUp();
      deadline.throwIfAborted();
      return found;
    } catch (error) {
      const isMiss = error instanceof HttpError && error.status === 404 && !deadline.aborted;
      if (isMiss) cancelRefund();
      else await refund();
      throw error;
    }
  };
}

/** The network whose lookups are counted together when the caller has no key. */
export function clientOf(request: FastifyRequest, caller: AuthorizedCaller): string | undefined {
  const isKnown = caller.workspaceId !== undefined;
  return isKnown ? undefined : clientNetwork(request.ip, request.socket.remoteAddress);
}
