import { errorResponse, messageSchema } from "@noisefloor/http/operations/openapi.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { boolean, type Parameter, text } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { ip } from "../../wire.ts";

const CROWDSEC = { group: "CrowdSec", pathParameters: {} } as const;

const decisionSchema = z
  .strictObject({
    id: z.int().describe("The same for the same address."),
    origin: z.literal("noisefloor"),
    scenario: z.string().describe("The feed's name."),
    scope: z.literal("Ip"),
    type: z.literal("ban"),
    value: ip,
    duration: z.string().describe("A duration as Go writes it: the feed's `ttl_hours`."),
  })
  .meta({ id: "Decision" });
const EXAMPLE_DECISION = {
  id: 3_232_706_566,
  origin: "noisefloor",
  scenario: "recent",
  scope: "Ip",
  type: "ban",
  value: "192.175.48.6",
  duration: "24h0m0s",
};

const FORBIDDEN = errorResponse("The header `X-Api-Key` has no valid token of a feed.", "access forbidden");
const NOT_PREPARED = errorResponse("There is no list yet, or the store cannot be reached.", "The feed is not prepared");
const DISABLED = errorResponse("The feed is disabled.", "This feed is disabled");
const AUTHENTICATED = "With a feed's token in the header `X-Api-Key`, as CrowdSec's bouncers send it.";

export const STARTUP = boolean({
  name: "startup",
  description: "Whether to answer with the whole list, not only with what changed since the last answer.",
  alsoTrue: ["True"],
  alsoFalse: ["False"],
});
export const SCOPES = text({ name: "scopes", description: "A list with commas; decisions have `ip`.", example: "ip" });
export const ORIGINS = text({
  name: "origins",
  description: "A list with commas; decisions have `noisefloor`.",
  example: "noisefloor",
});
export const SCENARIOS_CONTAINING = text({
  name: "scenarios_containing",
  description: "A list with commas: the feed's name has one of these in it, or no decision is answered.",
  example: "recent",
});
export const SCENARIOS_NOT_CONTAINING = text({
  name: "scenarios_not_containing",
  description: "A list with commas: the feed's name has none of these in it, or no decision is answered.",
  example: "tag-",
});
export const IP = text({ name: "ip", description: "Decisions about this address alone.", example: "192.175.48.6" });
const FILTERS: readonly Parameter<unknown>[] = [SCOPES, ORIGINS, SCENARIOS_CONTAINING, SCENARIOS_NOT_CONTAINING];

/** `GET /v1/decisions/stream`: what bouncers poll. */
export const streamDecisions = defineOperation({
  ...CROWDSEC,
  id: "streamDecisions",
  method: "GET",
  path: "/v1/decisions/stream",
  summary: "The feed of a token as CrowdSec's bouncers read it: the whole list, then what changed",
  description: `${AUTHENTICATED} With \`startup=false\`, what changed since this token's last answer that was sent whole. A decision that is prolonged stands in \`deleted\` and \`new\` of one answer.`,
  queryParameters: [STARTUP, ...FILTERS],
  success: {
    status: 200,
    description: "Decisions that begin and that end.",
    schema: z
      .strictObject({ new: z.array(decisionSchema), deleted: z.array(decisionSchema) })
      .meta({ id: "DecisionsStream" }),
    example: { new: [EXAMPLE_DECISION], deleted: [] },
  },
  errorResponses: { 403: FORBIDDEN, 410: DISABLED, 503: NOT_PREPARED },
});

/** `GET /v1/decisions`: what bouncers ask that look each address up. */
export const listDecisions = defineOperation({
  ...CROWDSEC,
  id: "listDecisions",
  method: "GET",
  path: "/v1/decisions",
  summary: "The decisions about an address, or all of a token's feed",
  description: AUTHENTICATED,
  queryParameters: [IP, ...FILTERS],
  success: {
    status: 200,
    description: "The decisions; `null` when there are none, as CrowdSec answers.",
    schema: z.array(decisionSchema).nullable(),
    example: [EXAMPLE_DECISION],
  },
  errorResponses: {
    400: errorResponse("`ip` is no address.", "Invalid parameter: ip takes an address"),
    403: FORBIDDEN,
    410: DISABLED,
    503: NOT_PREPARED,
  },
});

/** `POST /v1/usage-metrics`: bouncers report what they did, and log an error when nobody takes the report. */
export const postUsageMetrics = defineOperation({
  ...CROWDSEC,
  id: "postUsageMetrics",
  method: "POST",
  path: "/v1/usage-metrics",
  summary: "Takes the metrics of a bouncer, and drops them",
  description: AUTHENTICATED,
  queryParameters: [],
  body: {
    description: "Any JSON: nothing of it is kept.",
    schema: z.looseObject({}).meta({ id: "UsageMetrics" }),
    example: { remediation_components: [] },
  },
  success: {
    status: 201,
    description: "The metrics were dropped.",
    schema: messageSchema,
    example: { message: "Metrics are not kept" },
  },
  errorResponses: { 403: FORBIDDEN },
});
