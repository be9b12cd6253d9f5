import { isIPv6 } from "node:net";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import {
  authorizeScopes,
  parseScopes,
  type RequestedScopes,
  type Scope,
  type ScopedOperation,
} from "@noisefloor/domain/access/scope.ts";
import { isIpv4, isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { MAX_DAYS } from "@noisefloor/domain/time/window.ts";
import {
  type Parameter,
  type PathParameter,
  type RawQuery,
  readParameter,
  wholeNumber,
} from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { z } from "zod";

export const NOT_ROUTABLE = "not routable: private, reserved and multicast addresses are no sources on the Internet";

/** The path parameter of an address. Operations differ in the error message. */
export function addressParameter(errorMessage: string): PathParameter {
  return {
    schema: z.string().refine(isRoutableIpv4).meta({ format: "ipv4" }),
    description: "A routable IPv4 address in dotted decimal, without leading zeros.",
    errorMessage: errorMessage,
    example: "192.175.48.6",
  };
}

/** Existing clients know the beginning of the message, which is all of it for a text that is no address. */
export const ADDRESS: PathParameter = {
  ...addressParameter("Invalid parameter: ip"),
  schema: z.string().overwrite(plainIpv4).refine(isRoutableIpv4).meta({ format: "ipv4" }),
  description:
    "A routable IPv4 address in dotted decimal, without leading zeros, or as IPv6 maps it: `::ffff:192.175.48.6`.",
  reasonOf: (text) => (isIpv4(plainIpv4(text)) ? NOT_ROUTABLE : isIPv6(text) ? "IPv6 is not supported" : undefined),
};

/** How other clients name the bounds of a time. */
export const START_NAMES = ["start_time", "start_date", "from", "since"] as const;
export const END_NAMES = ["end_time", "end_date", "to", "until"] as const;
export const WINDOW_NAMES = ["start", ...START_NAMES, "end", ...END_NAMES] as const;
/** How they name the length of a list. */
export const LENGTH_NAMES = ["limit", "size", "count", "page_size"] as const;
export const otherLengths = (name: (typeof LENGTH_NAMES)[number]) => LENGTH_NAMES.filter((one) => one !== name);

/** How many days back an operation looks, at most `maxDays`. */
export const daysBack = (maxDays: number) =>
  wholeNumber({
    name: "days",
    never: WINDOW_NAMES,
    description:
      "Days back from now. Where the caller's plan allows fewer, the response covers fewer, without an error.",
    min: 1,
    max: maxDays,
    fallback: 1,
  });
export const DAYS = daysBack(MAX_DAYS);

/** How many entries a list may have. */
export const MAX_LIMIT = 1_000;

export const LIMIT = wholeNumber({
  name: "limit",
  alsoCalled: otherLengths("limit"),
  description: "How many entries the list has at most, the first ones of its order.",
  min: 1,
  max: MAX_LIMIT,
  fallback: 50,
});

/** SPEC, Dataset scopes. Accepts any text, because operations differ in how they treat unrecognized values. */
export const WORKSPACE_LABELS: Parameter<RequestedScopes> = {
  name: "workspace_labels",
  description: "The datasets to query. The default is the global one.",
  takes: "global, community and personal, separated by commas",
  schema: z
    .string()
    .optional()
    .transform((text) => parseScopes(text)),
  describedBy: "input",
  example: "global,community",
};

/** The scopes of {@link WORKSPACE_LABELS} that the caller may read. @throws HttpError as the operation prescribes. */
export function readScopes(operation: ScopedOperation, query: RawQuery, caller: Caller): Scope[] {
  const scopes = authorizeScopes(operation, readParameter(query, WORKSPACE_LABELS), caller);
  if (Array.isArray(scopes)) return scopes;
  throw new HttpError(scopes.status, scopes.message);
}

/** The data whose sensors a caller may know by name: without a key, none. */
export function namedSensorScopes({ workspaceId, entitlements }: Caller): Scope[] {
  if (workspaceId === undefined) return [];
  const shared = entitlements.has("sensors") ? (["global", "community"] as const) : [];
  return [{ dataset: "personal", workspaceId }, ...shared.map((dataset) => ({ dataset, workspaceId: "" }))];
}
