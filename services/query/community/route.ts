import { formatDate } from "@noisefloor/domain/time/window.ts";
import { defineOperation, ErrorResponse, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { readPath } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { AddressSummary } from "../address/records.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { addressParameter } from "../parameters.ts";
import { classification, date, ip, LIMIT_HEADERS, TOO_MANY_LOOKUPS } from "../wire.ts";

/** Existing clients compare these two texts byte for byte. */
const NOT_ROUTABLE = "Request is not a valid routable IPv4 address";
const NOT_FOUND = "IP not observed scanning the internet or contained in RIOT data set.";

const ADDRESS = addressParameter(NOT_ROUTABLE);

/** SPEC, Community lookup result. Every member is always present: clients read them without a check. */
const foundSchema = z
  .strictObject({
    ip,
    noise: z.boolean().describe("Whether it was observed scanning the Internet."),
    riot: z.boolean().describe("Whether it is in the benign-services dataset."),
    classification,
    name: z.string().describe("Its owner; `unknown` when that is not known."),
    link: z.url().describe("A page about the address."),
    last_seen: date,
    message: z.literal("Success"),
  })
  .meta({ id: "CommunityLookup" });

/** SPEC, Community lookup miss. */
const missSchema = z
  .strictObject({ ip, noise: z.literal(false), riot: z.literal(false), message: z.literal(NOT_FOUND) })
  .meta({ id: "CommunityMiss" });

/** `GET /v3/community/{ip}`: is this address Internet background noise, or a known benign service? SPEC, endpoint 1. */
export const getCommunityIp = defineOperation({
  id: "getCommunityIP",
  isLookup: true,
  method: "GET",
  path: "/v3/community/{ip}",
  group: "Addresses",
  summary: "Is this address background noise, or a known benign service?",
  description:
    "A response with status 200 or 404 counts as a lookup of the plan's limit per day, other statuses do not.",
  pathParameters: { ip: ADDRESS },
  queryParameters: [],
  success: {
    status: 200,
    description: "The address was seen scanning, or belongs to a benign service, or both.",
    schema: foundSchema,
    example: {
      ip: "192.175.48.6",
      noise: true,
      riot: false,
      classification: "malicious",
      name: "unknown",
      link: "https://noisefloor.example.org/ip/192.175.48.6",
      last_seen: "2026-11-20",
      message: "Success",
    },
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    400: errorResponse("The address is not a valid routable IPv4 address.", NOT_ROUTABLE),
    404: {
      description: "No record of the address.",
      schema: missSchema,
      example: { ip: "192.175.48.6", noise: false, riot: false, message: NOT_FOUND },
      headers: LIMIT_HEADERS,
    },
    429: TOO_MANY_LOOKUPS,
  },
});

/** @param publicUrl the base of links, without a trailing slash. */
export function registerCommunity(app: FastifyInstance, deps: RouteDeps, publicUrl: string): void {
  app.implement(getCommunityIp, async (request, reply, deadline) => {
    const ip = readPath(request.params.ip, ADDRESS);
    const caller = deps.authenticate(request);
    return await deps.countLookups({ request, reply, caller, lookups: 1, deadline }, async () =>
      toResponse(ip, await deps.lookUp(ip), publicUrl),
    );
  });
}

/** For an address with both, name and link come from riot, classification and date from noise. */
function toResponse(
  ip: string,
  { noise, riot }: AddressSummary,
  publicUrl: string,
): z.input<typeof foundSchema> | ErrorResponse {
  if (noise === undefined && riot === undefined) {
    const miss: z.input<typeof missSchema> = { ip, noise: false, riot: false, message: NOT_FOUND };
    return new ErrorResponse(404, miss);
  }
  return {
    ip,
    noise: noise !== undefined,
    riot: riot !== undefined,
    classification: noise?.classification ?? "benign",
    name: riot?.name ?? noise?.actor ?? "unknown",
    link: `${publicUrl}/${riot === undefined ? "ip" : "riot"}/${ip}`,
    last_seen: formatDate(noise?.lastSeen ?? riot?.refreshedAt ?? 0),
    message: "Success",
  };
}
