import { type PlanLimits, type Plans, UNAUTHENTICATED_PLAN } from "@noisefloor/domain/access/plan.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Authenticate } from "../auth.ts";
import { clientOf } from "../rate-limit/count-lookups.ts";
import type { LookupLimit } from "../rate-limit/limit.ts";
import { count, LIMIT_HEADERS, texts } from "../wire.ts";

const limits = {
  lookups_per_day: count.optional().describe("Lookups per UTC day; absent where there is no limit."),
  reach_days: count.describe("How many days back tag activity, statistics and timelines reach."),
};

/** `GET /v3/plans`: what each plan allows, and what the caller has left. */
export const getPlans = defineOperation({
  id: "getPlans",
  method: "GET",
  path: "/v3/plans",
  group: "Plans",
  summary: "The plans as configured, and what the caller has left today",
  description: "Does not count as a lookup.",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "The plans.",
    schema: z
      .strictObject({
        plans: z.array(z.strictObject({ name: z.string(), ...limits }).meta({ id: "Plan" })),
        caller: z
          .strictObject({
            plan: z.string(),
            entitlements: texts.describe(
              "`community_dataset`: the caller may choose datasets; `sensors`: it sees the sensors of the shared ones.",
            ),
            ...limits,
            lookups_left: count.optional().describe("For the rest of the UTC day; absent where there is no limit."),
          })
          .meta({ id: "PlanOfCaller" }),
      })
      .meta({ id: "Plans" }),
    example: {
      plans: [
        { name: UNAUTHENTICATED_PLAN, lookups_per_day: 100, reach_days: 1 },
        { name: "unlimited", reach_days: 90 },
      ],
      caller: {
        plan: UNAUTHENTICATED_PLAN,
        entitlements: [],
        lookups_per_day: 100,
        reach_days: 1,
        lookups_left: 97,
      },
    },
    headers: LIMIT_HEADERS,
  },
  errorResponses: {},
});

export type PlansDeps = {
  readonly authenticate: Authenticate;
  readonly limit: LookupLimit;
  readonly plans: Plans;
};

export function registerPlans(app: FastifyInstance, { authenticate, limit, plans }: PlansDeps): void {
  app.implement(getPlans, async (request, reply) => {
    const caller = authenticate(request);
    const { headers, remaining } = await limit.take(caller, clientOf(request, caller), 0);
    reply.headers(headers);
    return {
      plans: [...plans].map(([name, ofPlan]) => ({ name, ...toLimits(ofPlan) })),
      caller: {
        plan: caller.plan,
        entitlements: [...caller.entitlements],
        ...toLimits(caller.limits),
        ...(remaining === undefined ? {} : { lookups_left: remaining }),
      },
    };
  });
}

function toLimits({ lookups_per_day, reach_days }: PlanLimits) {
  return lookups_per_day === undefined ? { reach_days } : { lookups_per_day, reach_days };
}
