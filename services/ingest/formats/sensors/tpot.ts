import { MAX_ITEMS, MAX_LENGTH } from "@noisefloor/domain/observation/schema.ts";
import { toObservation } from "../draft.ts";
import { type Fields, objectAt, portAt, textAt, textsAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { decodeCowrie } from "./cowrie.ts";
import { decodeDionaea } from "./dionaea.ts";
import { decodeHoneytrap } from "./honeytrap.ts";
import { readHeaderFields, readHttpRequest } from "./payload.ts";
import { cveLabels, decodeEve } from "./suricata-eve.ts";
import { TPOT_TYPES } from "./tpot-types.ts";

/** What a sensor of this type speaks, where its records do not say. */
const APPLICATIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    adbhoney: "adb",
    ciscoasa: "http",
    citrixhoneypot: "http",
    elasticpot: "elasticsearch",
    h0neytr4p: "http",
    hellpot: "http",
    ipphoney: "ipp",
    log4pot: "http",
    mailoney: "smtp",
    medpot: "hl7",
    miniprint: "printer",
    nginx: "http",
    rdphoneypot: "rdp",
    redishoneypot: "redis",
    sentrypeer: "sip",
    tanner: "http",
    wordpot: "http",
    dicompot: "dicom",
    endlessh: "ssh",
  }),
);

/** Records of T-Pot's Logstash: any of its honeypots, with `type`, `src_ip`, `dest_port` and the sensor's names. */
export const tpot: LogFormat = {
  name: "tpot",
  description: "what T-Pot's Logstash sends, of any of its honeypots",
  json: {
    signs: "t-pot_hostname or t-pot_ip_ext, or @timestamp, src_ip and a type of T-Pot's like Cowrie,",
    recognizes: (record) => "t-pot_hostname" in record || "t-pot_ip_ext" in record,
    resembles: (record) => "@timestamp" in record && "src_ip" in record && TPOT_TYPES.has(textAt(record, "type") ?? ""),
    decode: decodeTpot,
  },
};

function decodeTpot(record: Fields, options: DecodeOptions): Decoded {
  const own = [textAt(record, "t-pot_ip_ext"), textAt(record, "t-pot_ip_int")];
  const isOwnAddress = (address: string) => own.includes(address) || options.isOwnAddress(address);
  // The destination is often a container's address: only the host's name says which sensor it was.
  const sensorId = options.sensorId ?? textAt(record, "t-pot_hostname");
  const decoded = decodeByType(record, { ...options, isOwnAddress, sensorId });
  return !("observation" in decoded) ? decoded : { ...decoded, observation: withPlace(decoded.observation, record) };
}

function decodeByType(record: Fields, options: DecodeOptions): Decoded {
  const type = textAt(record, "type")?.toLowerCase() ?? "";
  const timed = { ...record, timestamp: record.timestamp ?? record["@timestamp"] };
  if (type === "suricata") return decodeEve(timed, options);
  if (type === "cowrie") return decodeCowrie(timed, options);
  if (type === "dionaea") return decodeDionaea(timed, options);
  if (type === "honeytrap" && "attack_connection" in record) return decodeHoneytrap(record, options);
  return decodeGeneric(record, type, options);
}

function decodeGeneric(record: Fields, type: string, options: DecodeOptions): Decoded {
  const source = textAt(record, "src_ip");
  if (source !== undefined && options.isOwnAddress(source)) return { ignored: "own-traffic" };
  const username = textAt(record, "username");
  const password = textAt(record, "password");
  const isLogin = username !== undefined || password !== undefined;
  const raw = readHttpRequest(textAt(record, "request", "payload_printable", "raw")?.replace(/^"/, "") ?? "");
  const target = textAt(record, "http.url", "url", "path", "uri", "request_uri");
  const fields = Object.entries(objectAt(record, "headers")).map(([name, value]): [string, string] => [
    name,
    toText(value) ?? "",
  ]);
  const system = textAt(record, "os");
  return toObservation(
    {
      format: "tpot",
      observedAt: record["@timestamp"] ?? record.timestamp,
      sensor: undefined,
      sourceIp: source,
      sourceMembers: ["src_ip"],
      sourcePort: portAt(record, "src_port"),
      destinationPort: portAt(record, "dest_port"),
      transport: textAt(record, "proto", "protocol", "transport") ?? "tcp",
      application:
        textAt(record, "app_proto") ??
        APPLICATIONS.get(type) ??
        (type === "heralding" ? textAt(record, "proto") : undefined),
      session: textAt(record, "session", "session_id"),
      credentials: isLogin ? [{ username, password }] : [],
      loginAttempts: isLogin ? 1 : 0,
      commands: textsAt(record, "input"),
      labels: [
        `tpot:${textAt(record, "type")}`,
        ...(system === undefined || system === "???" ? [] : [`p0f:${system}`]),
      ],
      http:
        raw ??
        (target === undefined
          ? undefined
          : {
              ...readHeaderFields(fields),
              method: textAt(record, "method", "request_method", "http_method"),
              target,
              ...(textAt(record, "http_user_agent", "user_agent") !== undefined && {
                userAgent: textAt(record, "http_user_agent", "user_agent"),
              }),
              body: textAt(record, "body", "post_data", "postdata"),
            }),
      ja3: textAt(record, "fatt_tls.ja3"),
      hassh: textAt(record, "fatt_ssh.hassh"),
      sshBanner: textAt(record, "fatt_ssh.client"),
    },
    options,
  );
}

/** Logstash has looked up the source's place and reputation, and CVE ids of signatures. */
function withPlace(observation: Fields, record: Fields): Fields {
  const country = textAt(record, "geoip.country_code2");
  const labels = [
    ...textsAt(observation, "labels"),
    ...textsAt(record, "alert.cve_id").flatMap(cveLabels),
    ...textsAt(record, "ip_rep").map((reputation) => `ip-rep:${reputation}`),
  ];
  const place = {
    asn: textAt(record, "geoip.asn"),
    organization: textAt(record, "geoip.as_org")?.slice(0, MAX_LENGTH.organization),
    country: country !== undefined && /^[A-Z]{2}$/.test(country) ? country : undefined,
    city: textAt(record, "geoip.city_name")?.slice(0, MAX_LENGTH.place),
  };
  return {
    ...Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined)),
    ...observation,
    ...(labels.length > 0 && { labels: [...new Set(labels)].slice(0, MAX_ITEMS.labels) }),
  };
}
