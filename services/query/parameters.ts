import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { parseScopes, type RequestedScopes } from "@noisefloor/domain/scope.ts";
import { MAX_DAYS } from "@noisefloor/domain/window.ts";
import { type Parameter, type PathParameter, wholeNumber } from "@noisefloor/http/parameters.ts";
import { z } from "zod";

/** The address in a path; what a bad one is told differs per operation. */
export function addressIn(refusal: string): PathParameter {
  return {
    schema: z.string().refine(isRoutableIpv4).meta({ format: "ipv4" }),
    description: "A routable IPv4 address in dotted decimal, without leading zeros.",
    errorMessage: refusal,
    example: "192.175.48.6",
  };
}

export const ADDRESS = addressIn("Invalid parameter: ip");

export const DAYS = wholeNumber({
  name: "days",
  description: "How many days back, as far as the caller's plan reaches: more is answered for fewer, without an error.",
  least: 1,
  most: MAX_DAYS,
  fallback: 1,
});

/** SPEC, Dataset scopes. What a value leads to differs per operation, so any text is taken here. */
export const WORKSPACE_LABELS: Parameter<RequestedScopes> = {
  name: "workspace_labels",
  description: "The datasets that the question covers; the global one when left out.",
  takes: "global, community and personal, separated by commas",
  schema: z
    .string()
    .optional()
    .transform((text) => parseScopes(text)),
  describedBy: "input",
  example: "global,community",
};
