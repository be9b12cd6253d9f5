import { defineQuery, onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { NETWORK_ORGANIZATION, networkPrefix } from "@noisefloor/clickhouse/facets/network-value.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { type PathParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { countryName } from "../address/response.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { DAYS, LIMIT, WORKSPACE_LABELS } from "../parameters.ts";
import { facetRows, scopesParam } from "../scope-sql.ts";
import { count, ip, timestamp } from "../wire.ts";
import { latestAddresses, latestOf, latestOfLists } from "./latest-addresses.ts";
import { ERRORS, EXAMPLE_METADATA, metadata, STATS, WINDOW } from "./operations.ts";
import { registerStatistic } from "./statistic.ts";

const ASN: PathParameter = {
  schema: z.string().regex(/^AS[1-9]\d{0,9}$/),
  description: "The number of an autonomous system, after `AS`.",
  errorMessage: "Invalid parameter: asn takes AS and a number, like AS64500",
  example: "AS64500",
};
const COUNTRY: PathParameter = {
  schema: z.string().regex(/^[A-Z]{2}$/),
  description: "The two letters of a country (ISO 3166).",
  errorMessage: "Invalid parameter: country takes two capital letters, like DE",
  example: "DE",
};

const listed = {
  ips: z.array(z.strictObject({ ip, last_seen: timestamp }).meta({ id: "AddressOfPlace" })),
  total_ips: count.describe("All of them, exactly, also those beyond the limit."),
  metadata,
};
const LISTED = "The latest first, as far as the limit goes.";
const EXAMPLE = {
  ips: [{ ip: "192.175.48.6", last_seen: "2026-11-20T13:20:26Z" }],
  total_ips: 1,
  metadata: EXAMPLE_METADATA,
};
const QUERY_PARAMETERS = [DAYS, LIMIT, WORKSPACE_LABELS] as const;

/** `GET /v3/stats/networks/{asn}`: the addresses that `GET /v3/stats/networks` counts under a network. */
export const getAddressesOfNetwork = defineOperation({
  ...STATS,
  id: "getAddressesOfNetwork",
  path: "/v3/stats/networks/{asn}",
  summary: "The addresses that were seen in a network (ASN)",
  description: `${LISTED} ${WINDOW}`,
  pathParameters: { asn: ASN },
  queryParameters: QUERY_PARAMETERS,
  success: {
    status: 200,
    description: "The addresses, possibly none.",
    schema: z.strictObject({ asn: z.string(), organization: z.string(), ...listed }).meta({ id: "AddressesOfNetwork" }),
    example: { asn: "AS64500", organization: "Example Hosting", ...EXAMPLE },
  },
  errorResponses: { ...ERRORS, 400: errorResponse("The number or a parameter is invalid.", ASN.errorMessage) },
});

/** `GET /v3/stats/countries/{country}`: the addresses seen in a country. */
export const getAddressesOfCountry = defineOperation({
  ...STATS,
  id: "getAddressesOfCountry",
  path: "/v3/stats/countries/{country}",
  summary: "The addresses that were seen in a country",
  description: `${LISTED} ${WINDOW}`,
  pathParameters: { country: COUNTRY },
  queryParameters: QUERY_PARAMETERS,
  success: {
    status: 200,
    description: "The addresses, possibly none.",
    schema: z
      .strictObject({
        country: z.string().describe("In English; empty for a code that is not assigned."),
        country_code: z.string(),
        ...listed,
      })
      .meta({ id: "AddressesOfCountry" }),
    example: { country: "Germany", country_code: "DE", ...EXAMPLE },
  },
  errorResponses: { ...ERRORS, 400: errorResponse("The code or a parameter is invalid.", COUNTRY.errorMessage) },
});

/**
 * The addresses with values of a field that begin with a text, seen since `from` in milliseconds since 1970 UTC. Of a
 * network's names, the last in alphabetical order.
 */
const addressesAt = (name: string, field: "network" | "country") =>
  defineQuery({
    name,
    sql: `SELECT max(organization) AS organization, count() AS total_ips, ${latestOf("(last, source_ip)")} AS latest
      FROM (
        SELECT source_ip, max(${NETWORK_ORGANIZATION}) AS organization, toUnixTimestamp64Milli(max(last_seen)) AS last
        FROM ${facetRows(field)} AND startsWith(value, {value:String})
        GROUP BY source_ip)`,
    combine: (results) => `SELECT max(result.organization) AS organization, sum(result.total_ips) AS total_ips,
          ${latestOfLists("result.latest")} AS latest
        FROM ${results} AS result`,
    params: z.object({ scopes: scopesParam, from: z.int(), limit: z.int(), value: z.string() }),
    row: z.object({ organization: z.string(), total_ips: z.int(), latest: latestAddresses }),
  });
const addressesOfNetwork = addressesAt("stats-network", "network");
const addressesOfCountry = addressesAt("stats-country", "country");

const toListed = ({ latest, total_ips }: z.output<(typeof addressesOfNetwork)["row"]>) => ({
  ips: latest.map(([last, address]) => ({ ip: address, last_seen: formatTimestamp(last) })),
  total_ips,
});

export function registerAddressesByPlace(app: FastifyInstance, deps: RouteDeps): void {
  registerStatistic(app, getAddressesOfNetwork, deps, {
    placeOf: ({ params }) => readPath(params.asn, ASN),
    async read({ place, ...parameters }, signal) {
      const params = { ...parameters, value: networkPrefix(Number(place.slice(2))) };
      return onlyRow(addressesOfNetwork, await deps.read(addressesOfNetwork, params, signal));
    },
    toBody: (row, { place: asn, metadata }) => ({ asn, organization: row.organization, ...toListed(row), metadata }),
  });
  registerStatistic(app, getAddressesOfCountry, deps, {
    placeOf: ({ params }) => readPath(params.country, COUNTRY),
    async read({ place, ...parameters }, signal) {
      const params = { ...parameters, value: place.toLowerCase() };
      return onlyRow(addressesOfCountry, await deps.read(addressesOfCountry, params, signal));
    },
    toBody: (row, { place: code, metadata }) => ({
      country: countryName(code),
      country_code: code,
      ...toListed(row),
      metadata,
    }),
  });
}
