import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { ADDRESS, WORKSPACE_LABELS } from "../parameters.ts";
import { KEY_NEEDED } from "../sensors/operation.ts";
import { EXAMPLE_TAG, wireTagSchema } from "../tags/wire-tag.ts";
import { count, ip, LIMIT_HEADERS, TOO_MANY_LOOKUPS, timestamp } from "../wire.ts";
import { getAddressObservations } from "./observations-operation.ts";
import { MAX_ENTRIES } from "./queries.ts";

const SINCE = "Covers all that is stored, as the full context does. Counts as a lookup.";

const OF_ADDRESS = {
  method: "GET",
  group: "Addresses",
  pathParameters: { ip: ADDRESS },
  queryParameters: [WORKSPACE_LABELS],
  errorResponses: {
    400: errorResponse(
      "The address is not routable, a scope is unrecognized, or `personal` is requested without a key.",
      "Invalid parameter: ip",
    ),
    429: TOO_MANY_LOOKUPS,
  },
} as const;

const observations = count.min(1).describe("Distinct observations with it.");

/** `GET /v3/noise/ips/{ip}/tags`: since when and until when an address was seen with each of its tags. */
export const getAddressTags = defineOperation({
  ...OF_ADDRESS,
  id: "getAddressTags",
  path: "/v3/noise/ips/{ip}/tags",
  summary: "The tags of an address, with the times of their observations",
  description: `The tag seen last comes first, ties by slug. The list of an address without any is empty. ${SINCE}`,
  success: {
    status: 200,
    description: "The tags, possibly none.",
    schema: z
      .strictObject({
        ip,
        tags: z.array(
          wireTagSchema
            .pick({ id: true, slug: true, name: true, category: true, intention: true })
            .extend({ first_seen: timestamp, last_seen: timestamp, observations })
            .strict()
            .meta({ id: "AddressTag" }),
        ),
      })
      .meta({ id: "AddressTags" }),
    example: {
      ip: "192.175.48.6",
      tags: [
        {
          id: EXAMPLE_TAG.id,
          slug: EXAMPLE_TAG.slug,
          name: EXAMPLE_TAG.name,
          category: EXAMPLE_TAG.category,
          intention: EXAMPLE_TAG.intention,
          first_seen: "2026-10-14T08:12:40Z",
          last_seen: "2026-11-20T13:20:26Z",
          observations: 12,
        },
      ],
    },
    headers: LIMIT_HEADERS,
  },
});

const list = <Shape extends z.ZodRawShape>(shape: Shape) => z.array(z.strictObject({ ...shape, observations }));
const total = count.describe("The distinct ones, also those that are not listed.");
const text = z.string().describe("As the address sent it: it may hold anything.");

/** `GET /v3/noise/ips/{ip}/interaction`: what an address sent to sensors that let it log in or answered it. */
export const getAddressInteraction = defineOperation({
  ...OF_ADDRESS,
  id: "getAddressInteraction",
  path: "/v3/noise/ips/{ip}/interaction",
  summary: "What an address tried to log in with, typed and left behind",
  description:
    "Of sensors that report it. Each list has those entries that the most observations have, " +
    `${MAX_ENTRIES} at most, ties in order of their bytes. ${SINCE}`,
  success: {
    status: 200,
    description: "The lists, empty where no sensor reported any.",
    schema: z
      .strictObject({
        ip,
        login_attempts: count.describe("How often it tried to log in, as sensors counted."),
        credentials: list({ username: text, password: text }),
        total_credentials: total,
        commands: list({ command: text }),
        total_commands: total,
        urls: list({ url: text }).describe("What it made sensors download."),
        total_urls: total,
        payloads: list({ sha256: z.string() }).describe("The files that it left."),
        total_payloads: total,
      })
      .meta({ id: "AddressInteraction" }),
    example: {
      ip: "192.175.48.6",
      login_attempts: 31,
      credentials: [{ username: "root", password: "123456", observations: 7 }],
      total_credentials: 1,
      commands: [{ command: "uname -a", observations: 3 }],
      total_commands: 1,
      urls: [],
      total_urls: 0,
      payloads: [],
      total_payloads: 0,
    },
    headers: LIMIT_HEADERS,
  },
});

/** `GET /v3/noise/ips/{ip}/sensors`: which sensors saw an address, of those that the caller may know. */
export const getAddressSensors = defineOperation({
  ...OF_ADDRESS,
  id: "getAddressSensors",
  path: "/v3/noise/ips/{ip}/sensors",
  summary: "The sensors that saw an address",
  description:
    "A workspace sees those of its personal data, and with the entitlement `sensors` also those of the shared datasets. " +
    `Those with the most observations, ${MAX_ENTRIES} at most, ties by name. ${SINCE}`,
  queryParameters: [],
  success: {
    status: 200,
    description: "The sensors, possibly none.",
    schema: z
      .strictObject({
        ip,
        sensors: z.array(
          z
            .strictObject({ sensor_id: z.string(), first_seen: timestamp, last_seen: timestamp, observations })
            .meta({ id: "AddressSensor" }),
        ),
        total_sensors: total,
      })
      .meta({ id: "AddressSensors" }),
    example: {
      ip: "192.175.48.6",
      sensors: [
        {
          sensor_id: "berlin-1",
          first_seen: "2026-10-14T08:12:40Z",
          last_seen: "2026-11-20T13:20:26Z",
          observations: 12,
        },
      ],
      total_sensors: 1,
    },
    headers: LIMIT_HEADERS,
  },
  errorResponses: {
    400: errorResponse("The address is not routable.", ADDRESS.errorMessage),
    403: errorResponse("The caller has no key.", KEY_NEEDED),
    429: TOO_MANY_LOOKUPS,
  },
});

export const ADDRESS_OBSERVATION_OPERATIONS = [
  getAddressTags,
  getAddressInteraction,
  getAddressObservations,
  getAddressSensors,
] as const;
