import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { type Answer, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";

/** Schemas of the values in responses, the same for all operations. */
export const ip = z.string().meta({ format: "ipv4" });
export const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ format: "uuid" });
export const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ format: "date" });
/** RFC 3339 in UTC, with Z. */
export const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/)
  .meta({ format: "date-time" });
/** An unknown value is an empty string, never null: clients call string methods without a check. */
export const none = z.literal("");
export const texts = z.array(z.string());
export const count = z.int().min(0);
/** A list of things with their counts. */
export const counts = <Shape extends z.ZodRawShape>(shape: Shape) => z.array(z.strictObject({ ...shape, count }));
export const classification = z.enum(INTENTIONS);

export const BAD_ADDRESS = errorResponse(
  "The address is not a routable IPv4 address, or a parameter is invalid.",
  "Invalid parameter: ip",
);
export const NOT_ENTITLED = errorResponse(
  "`workspace_labels` asks for more than the caller's workspace is entitled to.",
  "workspace_labels requires the Community Dataset entitlement",
);

/** A text of a request body that the store keeps, which cannot keep half a surrogate pair. */
export const storedText = z.string().refine((text) => text.isWellFormed());

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

type LimitState = {
  readonly plan: string;
  readonly limit: number;
  readonly remaining?: number | undefined;
  readonly lookups?: number;
};

/** The body of that answer. */
export function limitBody(
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
