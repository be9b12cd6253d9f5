import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { ADDRESS, LIMIT, WORKSPACE_LABELS } from "../parameters.ts";
import { classification, count, ip, LIMIT_HEADERS, TOO_MANY_LOOKUPS, texts, timestamp } from "../wire.ts";

/** Any address of the network: people paste one with its length. */
export const NETWORK_ADDRESS: PathParameter = {
  schema: z.string().overwrite(plainIpv4).refine(isIpv4).meta({ format: "ipv4" }),
  description: "An IPv4 address of the network in dotted decimal, its first or any other.",
  errorMessage: ADDRESS.errorMessage,
  example: "192.175.48.0",
};

export const LENGTH: PathParameter = {
  schema: z.string().regex(/^(?:1[6-9]|2\d|3[0-2])$/),
  description: "The length of the network's prefix in bits, 16 to 32.",
  errorMessage: "Invalid parameter: length takes a whole number from 16 to 32",
  example: "24",
};

/** `GET /v3/noise/networks/{ip}/{length}`: which addresses of a network were seen. */
export const getNetwork = defineOperation({
  id: "getNetwork",
  method: "GET",
  path: "/v3/noise/networks/{ip}/{length}",
  group: "Addresses",
  summary: "The addresses of a network that were seen scanning",
  description:
    "In ascending order, of all that is stored. Each listed address counts as a lookup, and a network without any as " +
    "one; if fewer are left, the request fails and counts none: a smaller `limit` needs fewer.",
  pathParameters: { ip: NETWORK_ADDRESS, length: LENGTH },
  queryParameters: [LIMIT, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The addresses, possibly none.",
    schema: z
      .strictObject({
        network: z.string().describe("With its first address, like `192.175.48.0/24`."),
        ips: z.array(
          z
            .strictObject({
              ip,
              classification,
              last_seen: timestamp,
              tags: texts.describe("The slugs of its tags, ascending."),
            })
            .meta({ id: "NetworkAddress" }),
        ),
        total_ips: count.describe("All of the network that were seen, exactly."),
        truncated: z.boolean().describe("Whether there are more than those listed."),
      })
      .meta({ id: "NetworkAddresses" }),
    example: {
      network: "192.175.48.0/24",
      ips: [
        {
          ip: "192.175.48.6",
          classification: "malicious",
          last_seen: "2026-11-20T13:20:26Z",
          tags: ["ssh-bruteforcer", "ssh-scanner"],
        },
      ],
      total_ips: 1,
      truncated: false,
    },
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    400: errorResponse(
      "The network is not routable, a parameter is invalid, a scope is unrecognized, or `personal` is requested without a key.",
      LENGTH.errorMessage,
    ),
    429: TOO_MANY_LOOKUPS,
  },
});
