import { isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { toObservation } from "../draft.ts";
import { at, type Fields, isFields, listAt, objectAt, portAt, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/** Records about the sensor, without a source. */
const STATISTICS = new Set(["stats", "engine"]);
/** Their source is whoever sent the packet or the file, which in an answer is the server. */
const BY_PACKET = new Set(["alert", "anomaly", "fileinfo", "drop"]);
/** Suricata's own complaints about broken streams: they say nothing about what a source wants. */
const ENGINE_SIGNATURE = /^SURICATA /;
/** A client of the sensor's own gets its port from here on; servers listen below. */
const FIRST_EPHEMERAL_PORT = 32_768;

/** Suricata's eve.json. It sees both directions, so the sensors' own addresses have to be known. */
export const suricataEve: LogFormat = {
  name: "suricata-eve",
  description: "Suricata's eve.json; set OWN_ADDRESSES to the addresses that it watches",
  json: {
    signs: "event_type, and flow_id or a member called like the event,",
    recognizes: isEve,
    decode: decodeEve,
  },
};

/** Statistics, and packets without a flow, have no flow_id. */
function isEve(record: Fields): boolean {
  const event = textAt(record, "event_type");
  return event !== undefined && ("flow_id" in record || ("timestamp" in record && isFields(record[event])));
}

export function decodeEve(record: Fields, options: DecodeOptions): Decoded {
  const event = textAt(record, "event_type") ?? "";
  if (STATISTICS.has(event)) return { ignored: "about-sensor" };
  // An answer's source is a name server.
  if (event === "dns" && textAt(record, "dns.type") === "answer") return { ignored: "answer" };
  const direction = directionOf(record, event, options);
  if (direction === "own") return { ignored: "own-traffic" };
  const [source, destination] = direction === "in" ? ["src", "dest"] : ["dest", "src"];
  const transaction = Number(at(record, "tx_id") ?? 0);
  const flow = textAt(record, "flow_id");
  const decoded = toObservation(
    {
      format: "suricata-eve",
      observedAt: record.timestamp,
      sensor: textAt(record, "host"),
      sourceIp: textAt(record, `${source}_ip`),
      sourceMembers: [`${source}_ip`],
      sourcePort: portAt(record, `${source}_port`),
      destinationPort: portAt(record, `${destination}_port`),
      transport: textAt(record, "proto"),
      application: applicationOf(record, event),
      // Each further request of a connection is a behaviour of its own.
      session: flow && (event === "http" || event === "alert") && transaction > 0 ? `${flow}/${transaction}` : flow,
      labels: labelsOf(record, event),
      http: "http" in record ? httpOf(record) : undefined,
      ja3: textAt(record, "tls.ja3.hash"),
      ja4: textAt(record, "tls.ja4"),
      hassh: textAt(record, "ssh.client.hassh.hash"),
      sshBanner: bannerOf(record),
      payloadSha256: direction === "in" && event === "fileinfo" ? [textAt(record, "fileinfo.sha256")] : [],
      metadata: { icmp_type: record.icmp_type, icmp_code: record.icmp_code, tls_sni: textAt(record, "tls.sni") },
      key: [flow, record.timestamp, event, transaction, at(record, "alert.signature_id"), record.dest_port],
    },
    options,
  );
  return !("observation" in decoded) ? decoded : { ...decoded, destination: textAt(record, `${destination}_ip`) };
}

/** Whether the source came in, only answered somebody who did, or the sensor itself began it. */
function directionOf(record: Fields, event: string, { isOwnAddress }: DecodeOptions): "in" | "answer" | "own" {
  const isOwn = (address: string | undefined) =>
    address !== undefined && (isOwnAddress(address) || (/^[\d.]+$/.test(address) && !isRoutableIpv4(address)));
  const source = textAt(record, "src_ip");
  const destination = textAt(record, "dest_ip");
  const sourcePort = portAt(record, "src_port") ?? 0;
  const destinationPort = portAt(record, "dest_port") ?? 0;
  // Since version 7 an alert names who opened the flow.
  const opener = textAt(record, "flow.src_ip");
  if (opener !== undefined) {
    if (isOwn(opener)) return "own";
    return opener === source ? "in" : "answer";
  }
  if (!isOwn(source)) {
    const isAnswerToOwn = BY_PACKET.has(event) && sourcePort < 1_024 && destinationPort >= FIRST_EPHEMERAL_PORT;
    return isAnswerToOwn && sourcePort > 0 ? "own" : "in";
  }
  const isServer = sourcePort > 0 && sourcePort < FIRST_EPHEMERAL_PORT && sourcePort !== 53 && event !== "dns";
  return isServer && !isOwn(destination) && event !== "http" && event !== "tls" ? "answer" : "own";
}

function applicationOf(record: Fields, event: string): string | undefined {
  const named = textAt(record, "app_proto");
  if (named !== undefined && named !== "failed" && named !== "unknown") return named;
  return ["alert", "anomaly", "flow", "netflow", "fileinfo", "drop"].includes(event) ? undefined : event;
}

function labelsOf(record: Fields, event: string): string[] {
  if (event === "anomaly") return ["eve:anomaly"];
  const signature = textAt(record, "alert.signature");
  if (signature === undefined || ENGINE_SIGNATURE.test(signature)) return [];
  const category = textAt(record, "alert.category");
  const severity = textAt(record, "alert.severity");
  return [
    `suricata:${signature}`,
    ...(category === undefined ? [] : [`suricata-class:${category}`]),
    ...(severity === undefined ? [] : [`suricata-severity:${severity}`]),
    ...[...textsAt(record, "alert.metadata.cve"), ...textsAt(record, "alert.cve_id")].flatMap(cveLabels),
  ];
}

/** How much of a text with ids of CVEs is read: more labels are not kept. */
const MAX_CVE_LENGTH = 4096;

/** Rule writers spell them `CVE_2021_44228` and `2021-44228`; T-Pot lists several in one text. */
export function cveLabels(text: string): string[] {
  return [...text.slice(0, MAX_CVE_LENGTH).matchAll(/(\d{4})[_-](\d{4,7})/g)].map(
    ([, year, number]) => `cve:CVE-${year}-${number}`,
  );
}

function httpOf(record: Fields) {
  const http = objectAt(record, "http");
  const headers = headersOf(http);
  return {
    method: textAt(http, "http_method"),
    host: textAt(http, "hostname"),
    target: textAt(http, "url"),
    userAgent: textAt(http, "http_user_agent"),
    referer: textAt(http, "http_refer"),
    headers: headers.map(([name]) => name),
    headerLines: headers.map(([name, value]) => `${name}: ${value}`),
    body: textAt(http, "http_request_body_printable"),
  };
}

/** All of them with `dump-all-headers`; else only where a proxy says that the request came from. */
function headersOf(http: Fields): (readonly [name: string, value: string])[] {
  const forwarded = textAt(http, "xff");
  return [
    ...listAt(http, "request_headers").flatMap((field) => {
      const name = isFields(field) ? textAt(field, "name") : undefined;
      return name === undefined || !isFields(field) ? [] : [[name, textAt(field, "value") ?? ""] as const];
    }),
    ...(forwarded === undefined ? [] : [["X-Forwarded-For", forwarded] as const]),
  ];
}

/** Suricata leaves out the beginning that every banner has. */
function bannerOf(record: Fields): string | undefined {
  const software = textAt(record, "ssh.client.software_version");
  return software && `SSH-${textAt(record, "ssh.client.proto_version") ?? "2.0"}-${software}`;
}
