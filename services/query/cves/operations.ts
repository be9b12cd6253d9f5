import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { count, none } from "../wire.ts";

/** How many CVEs a body may hold. */
export const MAX_CVES = 10_000;
export const WRONG_BODY = `The request body must be {"cves": [...]} with 1 to ${MAX_CVES} CVE ids`;
export const CVE_ID = /^CVE-\d{4}-\d{4,19}$/i;

export const CVE: PathParameter = {
  schema: z.string().regex(CVE_ID),
  description: "The id of a CVE, in either case.",
  errorMessage: "bad query: invalid CVE format",
  example: "CVE-2021-44228",
};

const noDate = none.describe("Always empty: no data source.");
const noNumber = z.literal(0).describe("Always 0: no data source.");
const notKnown = z.literal(false).describe("Always false: no data source.");

/** Existing clients read all members without a check, also those that nothing is known of here. */
const cveSchema = z
  .strictObject({
    id: z.string(),
    details: z.strictObject({
      vulnerability_name: z.string().describe("The name of the first tag that names the CVE."),
      vulnerability_description: z.string(),
      cve_cvss_score: noNumber,
      product: none,
      vendor: none,
      published_to_nist_nvd: notKnown,
    }),
    timeline: z.strictObject({
      cve_published_date: noDate,
      cve_last_updated_date: noDate,
      first_known_published_date: noDate,
      cisa_kev_date_added: noDate,
    }),
    exploitation_details: z.strictObject({
      attack_vector: none,
      exploit_found: notKnown,
      exploitation_registered_in_kev: notKnown,
      epss_score: noNumber,
    }),
    exploitation_stats: z.strictObject({
      number_of_available_exploits: noNumber,
      number_of_threat_actors_exploiting_vulnerability: noNumber,
      number_of_botnets_exploiting_vulnerability: noNumber,
    }),
    exploitation_activity: z
      .strictObject({
        activity_seen: z.boolean(),
        benign_ip_count_1d: count,
        benign_ip_count_10d: count,
        benign_ip_count_30d: count,
        threat_ip_count_1d: count,
        threat_ip_count_10d: count,
        threat_ip_count_30d: count,
      })
      .describe("Distinct addresses that had a tag which names the CVE: of known benign actors, and all others."),
  })
  .meta({ id: "Cve" });
export type Cve = z.input<typeof cveSchema>;

/** Members that only other sources can fill in. */
export const NOT_KNOWN = {
  timeline: {
    cve_published_date: "",
    cve_last_updated_date: "",
    first_known_published_date: "",
    cisa_kev_date_added: "",
  },
  exploitation_details: {
    attack_vector: "",
    exploit_found: false,
    exploitation_registered_in_kev: false,
    epss_score: 0,
  },
  exploitation_stats: {
    number_of_available_exploits: 0,
    number_of_threat_actors_exploiting_vulnerability: 0,
    number_of_botnets_exploiting_vulnerability: 0,
  },
} as const satisfies Partial<Cve>;

const EXAMPLE_CVE: Cve = {
  id: "CVE-2021-44228",
  details: {
    vulnerability_name: "Apache Log4j RCE Attempt",
    vulnerability_description: "Sends a JNDI lookup.",
    cve_cvss_score: 0,
    product: "",
    vendor: "",
    published_to_nist_nvd: false,
  },
  ...NOT_KNOWN,
  exploitation_activity: {
    activity_seen: true,
    benign_ip_count_1d: 1,
    benign_ip_count_10d: 2,
    benign_ip_count_30d: 2,
    threat_ip_count_1d: 12,
    threat_ip_count_10d: 80,
    threat_ip_count_30d: 213,
  },
};

const COUNTS =
  "Counts are those of the global dataset in the last 1, 10 and 30 days, in whole hours up to the current one, as far as " +
  "the caller's plan reaches. Does not count as a lookup.";

/** `GET /v1/cve/{cve}`: who tries to exploit a CVE. */
export const getCve = defineOperation({
  id: "getCve",
  method: "GET",
  path: "/v1/cve/{cve}",
  group: "CVEs",
  summary: "How many addresses tried to exploit a CVE",
  description: `Known are the CVEs that a tag names. ${COUNTS}`,
  pathParameters: { cve: CVE },
  queryParameters: [],
  success: { status: 200, description: "What is known of the CVE.", schema: cveSchema, example: EXAMPLE_CVE },
  errorResponses: {
    400: errorResponse("The id is malformed.", CVE.errorMessage),
    404: errorResponse("No tag names the CVE.", "CVE not found"),
  },
});

/** `POST /v3/cves`: the same for many. */
export const getCves = defineOperation({
  id: "getManyCves",
  method: "POST",
  path: "/v3/cves",
  group: "CVEs",
  summary: "How many addresses tried to exploit each of many CVEs",
  description: `Those that no tag names, and texts that are no CVE ids, are left out. ${COUNTS}`,
  pathParameters: {},
  queryParameters: [],
  body: {
    description: `1 to ${MAX_CVES} ids in at most 1 MiB. Parsed as JSON, whatever its Content-Type.`,
    schema: z.object({ cves: z.array(z.string()).min(1).max(MAX_CVES) }).meta({ id: "CveIds" }),
    example: { cves: ["CVE-2021-44228"] },
  },
  success: {
    status: 200,
    description: "The known ones, each once, in the order of the request.",
    schema: z.array(cveSchema).meta({ id: "Cves" }),
    example: [EXAMPLE_CVE],
  },
  errorResponses: { 400: errorResponse("The body is no such JSON, or too large.", WRONG_BODY) },
});
