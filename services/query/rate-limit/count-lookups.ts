import { clientNetwork } from "@noisefloor/domain/client-address.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { Answer } from "@noisefloor/http/operation.ts";
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

/** What answers of operations that count lookups carry. */
export const LIMIT_HEADERS = {
  "RateLimit-Limit": "Lookups per UTC day; not sent where there is no limit.",
  "RateLimit-Remaining": "How many of them are left.",
  "RateLimit-Reset": "Seconds until the day ends.",
};

/** How an operation that counts lookups describes its 429. */
export const TOO_MANY_LOOKUPS: Answer = {
  description: "The plan's lookups for the day are used up, or fewer are left than asked for. A refusal costs nothing.",
  schema: limitSchema,
  example: limitBody({ plan: "unauthenticated", limit: 100 }, "https://noisefloor.example.org/plans"),
  headers: LIMIT_HEADERS,
};

/**
 * Counts lookups, then runs them: one for every address whose record is given out. API, "What counts as a lookup".
 * Puts the `RateLimit-*` fields on the answer. Lookups that end in another error than a 404 are given back.
 * @throws HttpError 429 when fewer are left than asked for; then nothing is counted.
 */
export type CountLookups = <T>(asked: AskedLookups, lookUp: () => Promise<T>) => Promise<T>;

export type AskedLookups = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: AuthorizedCaller;
  /** Distinct routable addresses. */
  readonly lookups: number;
  /** Aborts when the answer is not worth working on any more. */
  readonly signal: AbortSignal;
};

export type CountLookupsOptions = {
  readonly limit: LookupLimit;
  /** Called with the caller's plan for each refused request. */
  readonly onRefused: (plan: string) => void;
  /** The page that a refused caller is pointed to. */
  readonly plansUrl: string;
};

export function lookupCounting({ limit, onRefused, plansUrl }: CountLookupsOptions): CountLookups {
  return async ({ request, reply, caller, lookups, signal }, lookUp) => {
    const client = clientNetwork(request.ip, request.socket.remoteAddress);
    const permit = await limit.take(caller, client, lookups);
    reply.headers(permit.headers);
    if (!permit.isGranted) {
      onRefused(caller.plan);
      const { plan } = caller;
      const { message, ...body } = limitBody(
        { plan, limit: permit.limit ?? 0, remaining: permit.remaining, lookups },
        plansUrl,
      );
      throw new HttpError(429, message, body);
    }
    let givenBack: Promise<void> | undefined;
    const giveBack = () => {
      givenBack ??= permit.giveBack();
      return givenBack;
    };
    const onAbort = () => void giveBack();
    // Also later than the lookups end: a caller who is told 503 for what is made of them pays nothing.
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const answer = await lookUp();
      signal.throwIfAborted();
      return answer;
    } catch (error) {
      const isMiss = error instanceof HttpError && error.status === 404 && !signal.aborted;
      if (isMiss) signal.removeEventListener("abort", onAbort);
      else await giveBack();
      throw error;
    }
  };
}

type Refused = {
  readonly plan: string;
  readonly limit: number;
  readonly remaining?: number | undefined;
  readonly lookups?: number;
};

function limitBody(
  { plan, limit, remaining = 0, lookups = 1 }: Refused,
  plansUrl: string,
): z.input<typeof limitSchema> {
  const reason =
    remaining === 0
      ? `You have hit your daily rate limit of ${limit} requests per day.`
      : `This request takes ${lookups} lookups, and ${remaining} of your ${limit} per day are left.`;
  const message = `${reason} See ${plansUrl} for plans with more.`;
  return { plan, "rate-limit": `${limit}-lookups/day`, plan_url: plansUrl, message };
}
