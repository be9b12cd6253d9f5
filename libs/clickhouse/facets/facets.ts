import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { IS_ATTACK } from "../client/attack-sql.ts";

const text = (column: string) => `if(${column} = '', [], [lowerUTF8(${column})])`;

/**
 * The fields of `address_facets`, which are names of the search language: each with the SQL of its values over a row of
 * `observations`, an Array(String). The view of the table makes its rows by the same SQL, as a test checks.
 */
export const FACETS = {
  /** Every observation has the empty value. */
  seen: "['']",
  /** UUIDs as texts, that of attacks too. */
  tag: `arrayConcat(arrayMap(tag -> toString(tag), tags), if(${IS_ATTACK}, ['${ATTACK_TAG_ID}'], []))`,
  /** `0000064500 Example Hosting`: the number in ten digits, and the organization as it was sent. */
  network: "if(asn = 0 AND organization = '', [], [concat(leftPad(toString(asn), 10, '0'), ' ', organization)])",
  country: text("country"),
  /** `00023/tcp`: the number in five digits, and the transport, which may be empty. */
  port: `if(isNull(destination_port), [],
    [concat(leftPad(toString(assumeNotNull(destination_port)), 5, '0'), '/', transport)])`,
  protocol: text("transport"),
  path: text("http_path"),
  user_agent: text("http_user_agent"),
  host: text("http_host"),
  ja3: text("tls_ja3"),
  ja4: text("tls_ja4"),
  hassh: text("ssh_hassh"),
  rdns: text("rdns"),
  method: text("http_method"),
  region: text("region"),
  city: text("city"),
  sensor: text("sensor_id"),
} as const satisfies Readonly<Record<string, string>>;

export type FacetField = keyof typeof FACETS;
