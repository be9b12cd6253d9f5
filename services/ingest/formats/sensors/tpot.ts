import { MEMBERS } from "@noisefloor/domain/observation/members.ts";
import { defined } from "../draft.ts";
import { type Fields, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { decodeCowrie } from "./cowrie.ts";
import { decodeDionaea } from "./dionaea.ts";
import { decodeHeralding } from "./heralding.ts";
import { decodeHoneypot } from "./honeypots/honeypot.ts";
import { findHoneypot, HONEYPOTS } from "./honeypots/honeypots.ts";
import { asWritten, TPOT_CHANGES } from "./honeypots/tpot-changes.ts";
import { unknownHoneypot } from "./honeypots/unknown.ts";
import { decodeHoneypots } from "./honeypots.ts";
import { decodeHoneytrap } from "./honeytrap.ts";
import { cveLabels, decodeEve } from "./monitors/suricata/suricata-eve.ts";

type Decode = (record: Fields, options: DecodeOptions) => Decoded;

/** The types whose honeypots have formats of their own. */
const FORMATS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["cowrie", decodeCowrie],
  ["dionaea", decodeDionaea],
  ["heralding", decodeHeralding],
  ["honeypots", decodeHoneypots],
  ["honeytrap", decodeHoneytrap],
  ["suricata", decodeEve],
]);
/** The types whose labels name the honeypot by themselves. */
const NAMED_BY_LABELS = new Set(["cowrie", "dionaea", "honeytrap", "suricata"]);

/** Records of T-Pot's Logstash: any of its honeypots, with `type`, `src_ip`, `dest_port` and the sensor's names. */
export const tpot: LogFormat = {
  name: "tpot",
  description: "what T-Pot's Logstash sends, of any of its honeypots",
  json: {
    signs: "t-pot_hostname or t-pot_ip_ext, or @timestamp, src_ip and a type of T-Pot's like Cowrie,",
    recognizes: (record) => "t-pot_hostname" in record || "t-pot_ip_ext" in record,
    resembles: (record) =>
      "@timestamp" in record && "src_ip" in record && TPOT_CHANGES.has(textAt(record, "type")?.toLowerCase() ?? ""),
    decode: decodeTpot,
  },
};

function decodeTpot(record: Fields, options: DecodeOptions): Decoded {
  const ownAddresses = [textAt(record, "t-pot_ip_ext"), textAt(record, "t-pot_ip_int")];
  const isOwnAddress = (address: string) => ownAddresses.includes(address) || options.isOwnAddress(address);
  const type = textAt(record, "type") ?? "";
  const source = textAt(record, "src_ip");
  // Suricata sees both directions, and tells them apart itself.
  if (source !== undefined && type.toLowerCase() !== "suricata" && isOwnAddress(source))
    return { ignored: "own-traffic" };
  // The destination is often a container's address: only the host's name says which sensor it was.
  const sensorId = options.sensorId ?? textAt(record, "t-pot_hostname");
  const decoded = decodeByType(record, type.toLowerCase(), { ...options, isOwnAddress, sensorId });
  return !("observation" in decoded)
    ? decoded
    : { ...decoded, observation: withEnrichment(decoded.observation, record, type) };
}

function decodeByType(record: Fields, type: string, options: DecodeOptions): Decoded {
  const written = asWritten(record, TPOT_CHANGES.get(type));
  const decode = FORMATS.get(type);
  if (decode !== undefined) return decode(written, options);
  return decodeHoneypot(HONEYPOTS.get(type) ?? findHoneypot(written) ?? unknownHoneypot, written, options);
}

/** Logstash has looked up the source's location and reputation, and CVE ids of signatures. */
function withEnrichment(observation: Fields, record: Fields, type: string): Fields {
  const country = textAt(record, "geoip.country_code2");
  const labels = [
    ...(type === "" || NAMED_BY_LABELS.has(type.toLowerCase())
      ? []
      : [`tpot:${type}`.slice(0, MEMBERS.labels.maxLength)]),
    ...textsAt(observation, "labels"),
    ...textsAt(record, "alert.cve_id").flatMap(cveLabels),
    ...textsAt(record, "ip_rep").map((reputation) => `ip-rep:${reputation}`),
  ];
  const enriched = defined({
    asn: asnOf(record),
    organization: textAt(record, "geoip.as_org")?.slice(0, MEMBERS.organization.maxLength),
    country: country !== undefined && /^[A-Z]{2}$/.test(country) ? country : undefined,
    city: textAt(record, "geoip.city_name")?.slice(0, MEMBERS.city.maxLength),
    ...observation,
    ...(labels.length > 0 && { labels: [...new Set(labels)].slice(0, MEMBERS.labels.maxItems) }),
  });
  return enriched ?? observation;
}

/** Digits become a number, the wire schema's form; what is no number stays, and validation judges it. */
function asnOf(record: Fields): number | string | undefined {
  const asn = textAt(record, "geoip.asn");
  return asn !== undefined && /^\d{1,10}$/.test(asn) ? Number(asn) : asn;
}
