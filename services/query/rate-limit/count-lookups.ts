import { clientNetwork } from "@noisefloor/domain/address/client-address.ts";
import type { Answer } from "@noisefloor/http/operations/operation.ts";
import type { Deadline } from "@noisefloor/http/requests/deadline.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AuthorizedCaller } from "../auth.ts";
import type { LookupLimit } from "./limit.ts";

/** SPEC, Rate-limit object. */
const limitSchema = z
  .strictObject({
    plan: z.string(),
    "rate-limit": z.string().regex(/^\d+-lookups\/day$/),
    plan_url: z.url(),
    message: z.string(),
  })
  .meta({ id: "RateLimit" });

/** Header fields of responses of operations that count lookups. */
export const LIMIT_HEADERS = {
  "RateLimit-Limit": "Lookups per UTC day; not sent where there is no limit.",
  "RateLimit-Remaining": "How many of them are left.",
  "RateLimit-Reset": "Seconds until the day ends.",
};

/** The 429 of operations that count lookups. */
export const TOO_MANY_LOOKUPS: Answer = {
  description: "Fewer of the plan's lookups are left for the day than the request needs. It counts none.",
  schema: limitSchema,
  example: limitBody({ plan: "unauthenticated", limit: 100 }, "https://noisefloor.example.org/plans"),
  headers: LIMIT_HEADERS,
};

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

type LimitState = {
  readonly plan: string;
  readonly limit: number;
  readonly remaining?: number | undefined;
  readonly lookups?: number;
};

function limitBody(
  { plan, limit, remaining = 0, lookups = 1 }: LimitState,
  plansUrl: string,
): z.input<typeof limitSchema> {
  const reason =
    remaining === 0
      ? `You have hit your daily rate limit of ${limit} requests per day.`
      : `This request takes ${lookups} lookups, and ${remaining} of your ${limit} per day are left.`;
  const message = `${reason} See ${plansUrl} for plans with more.`;
  return { plan, "rate-limit": `${limit}-lookups/day`, plan_url: plansUrl, message };
}
