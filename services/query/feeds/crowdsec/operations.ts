import { MAX_FEED_ADDRESSES } from "@noisefloor/domain/feeds/feed-definition.ts";
import { defineOperation, errorResponse, messageSchema } from "@noisefloor/http/operations/operation.ts";
import { boolean, type Parameter, text, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { ip } from "../../wire.ts";
import { ORIGINS } from "./decisions.ts";

const CROWDSEC = { group: "CrowdSec", pathParameters: {} } as const;

const decisionSchema = z
  .strictObject({
    id: z.int().describe("The same for the same address."),
    origin: z.enum(ORIGINS).describe("Others than `noisefloor` prolong decisions of Node's and PHP's bouncers."),
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

/** A parameter that narrows an answer: an empty one chooses nothing, where it would otherwise choose everything. */
const narrowing = (name: string, example: string, description: string): Parameter<string | undefined> => ({
  ...text({ name, description, example }),
  schema: z.string().optional(),
});

/** Which decisions an answer has. */
export const FILTERS = {
  ip: narrowing("ip", "192.175.48.6", "Decisions about this address alone; IPv4 also as `::ffff:192.175.48.6`."),
  range: narrowing("range", "192.175.48.0/24", "A network: decisions about all of it, or those that `contains` says."),
  contains: boolean({
    name: "contains",
    description: "With `false`, the decisions within `range`; by default those that contain all of it.",
    fallback: true,
  }),
  value: narrowing("value", "192.175.48.6", "Decisions with this value."),
  type: narrowing("type", "ban", "Decisions have `ban`."),
  scope: narrowing("scope", "ip", "Decisions have `ip`."),
  scopes: narrowing("scopes", "ip,range", "A list with commas; decisions have `ip`."),
  origins: narrowing("origins", "noisefloor", "A list with commas; decisions have `noisefloor`."),
  scenariosContaining: text({
    name: "scenarios_containing",
    description: "A list with commas: the feed's name has one of these in it, or no decision is answered.",
    example: "recent",
  }),
  scenariosNotContaining: text({
    name: "scenarios_not_containing",
    description: "A list with commas: the feed's name has none of these in it, or no decision is answered.",
    example: "tag-",
  }),
} as const;

/** What CrowdSec's clients send that chooses nothing here: no decision is simulated, double, or of another's list. */
const WITHOUT_EFFECT = ["simulated", "dedup", "community_pull", "additional_pull"].map((name) =>
  text({ name, description: "Has no effect.", example: "false" }),
);
const PARAMETERS: readonly Parameter<unknown>[] = [...Object.values(FILTERS), ...WITHOUT_EFFECT];

export const LIMIT = wholeNumber({
  name: "limit",
  description: "How many decisions to answer with, in order of their addresses.",
  min: 1,
  max: MAX_FEED_ADDRESSES,
  fallback: MAX_FEED_ADDRESSES,
});
export const OFFSET = wholeNumber({
  name: "offset",
  description: "How many decisions to leave out before.",
  min: 0,
  max: MAX_FEED_ADDRESSES,
  fallback: 0,
});
const UNKNOWN_PARAMETER = errorResponse(
  "A parameter that is not known, which might have narrowed the answer, or `ip` or `range` without an address.",
  "Unknown parameter: scenario",
);

/** `GET /v1/decisions/stream`: what bouncers poll. */
export const streamDecisions = defineOperation({
  ...CROWDSEC,
  id: "streamDecisions",
  method: "GET",
  path: "/v1/decisions/stream",
  summary: "The feed of a token as CrowdSec's bouncers read it: the whole list, then what changed",
  description: `${AUTHENTICATED} With \`startup=false\`, what changed since this token's last answer that was sent whole. A decision that goes on is prolonged by a new one: of another origin for Node's bouncer and PHP's, and named in \`deleted\` too for the firewall bouncer, by \`User-Agent\`. \`HEAD\` is no answer.`,
  queryParameters: [STARTUP, ...PARAMETERS],
  success: {
    status: 200,
    description: "Decisions that begin and that end.",
    schema: z
      .strictObject({ new: z.array(decisionSchema), deleted: z.array(decisionSchema) })
      .meta({ id: "DecisionsStream" }),
    example: { new: [EXAMPLE_DECISION], deleted: [] },
  },
  errorResponses: { 400: UNKNOWN_PARAMETER, 403: FORBIDDEN, 410: DISABLED, 503: NOT_PREPARED },
});

/** `GET /v1/decisions`: what bouncers ask that look each address up. */
export const listDecisions = defineOperation({
  ...CROWDSEC,
  id: "listDecisions",
  method: "GET",
  path: "/v1/decisions",
  summary: "The decisions about an address, or all of a token's feed",
  description: AUTHENTICATED,
  queryParameters: [...PARAMETERS, LIMIT, OFFSET],
  success: {
    status: 200,
    description: "The decisions; `null` when there are none, as CrowdSec answers.",
    schema: z.array(decisionSchema).nullable(),
    example: [EXAMPLE_DECISION],
  },
  errorResponses: { 400: UNKNOWN_PARAMETER, 403: FORBIDDEN, 410: DISABLED, 503: NOT_PREPARED },
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
