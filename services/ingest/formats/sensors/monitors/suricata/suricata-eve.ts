import { toObservation } from "../../../draft.ts";
import { at, type Fields, isFields, listAt, objectAt, portAt, textAt, textsAt } from "../../../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../../../format.ts";
import { eveContact } from "./eve-contact.ts";
import { flowSession, flowStart } from "./eve-flow.ts";
import { eveApplication, readProtocol } from "./eve-protocols.ts";
import { type Side, sourceSide } from "./eve-source.ts";

/** Suricata's own complaints about broken streams: they say nothing about what a source wants. */
const ENGINE_SIGNATURE = /^SURICATA /;
/** Each further request of a connection is a behaviour of its own; these events name their request. */
const OF_REQUESTS = new Set(["http", "alert", "fileinfo"]);
/** Written when the flow ended or timed out. */
const OF_FLOWS = new Set(["flow", "netflow"]);
/** What version 7 says of an event that waited for an answer until the flow timed out, and was written then. */
const GIVEN_UP = "stream (flow timeout)";

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
  const side = sourceSide(record, event, options);
  if (side !== "src" && side !== "dest") return { ignored: side };
  const other: Side = side === "src" ? "dest" : "src";
  const isFile = event === "fileinfo";
  const transaction = Number(textAt(record, "tx_id") ?? (isFile ? textAt(record, "fileinfo.tx_id") : undefined) ?? 0);
  const flow = flowSession(record, side);
  const flowId = textAt(record, "flow_id");
  const isGivenUp = record.pkt_src === GIVEN_UP;
  const start = OF_FLOWS.has(event) || isGivenUp ? flowStart(record) : undefined;
  const time = start ?? record.timestamp;
  const source = textAt(record, `${side}_ip`);
  const sourcePort = portAt(record, `${side}_port`);
  const hello = record.tls ?? record.quic;
  const handshake = isFields(hello) ? hello : undefined;
  const said = readProtocol(record, event);
  const decoded = toObservation(
    {
      format: "suricata-eve",
      observedAt: time,
      sensor: textAt(record, "host"),
      sourceIp: source,
      sourceMembers: [`${side}_ip`],
      sourcePort,
      destinationPort: portAt(record, `${other}_port`),
      transport: textAt(record, "proto"),
      established: eveContact(record, event),
      application: eveApplication(record, event),
      session: flow && OF_REQUESTS.has(event) && transaction > 0 ? `${flow}/${transaction}` : flow,
      labels: labelsOf(record, event),
      credentials: said?.credentials ?? [],
      loginAttempts: said?.loginAttempts,
      commands: said?.commands ?? [],
      http: "http" in record ? httpOf(record) : said?.http,
      tls: handshake && {
        ja3: textAt(handshake, "ja3.hash"),
        ja4: textAt(handshake, "ja4"),
        sni: textAt(handshake, "sni"),
      },
      ssh: "ssh" in record ? { hassh: textAt(record, "ssh.client.hassh.hash"), banner: bannerOf(record) } : undefined,
      payloadSha256: side === "src" && isFile ? [textAt(record, "fileinfo.sha256")] : [],
      metadata: {
        icmp_type: record.icmp_type,
        icmp_code: record.icmp_code,
        ...(flow !== flowId && { flow_id: flowId }),
        ...said?.metadata,
      },
      key: [
        flow,
        time,
        event,
        transaction,
        event === "alert" && at(record, "alert.signature_id"),
        source,
        sourcePort,
        record.dest_port,
      ],
    },
    options,
  );
  if (!("observation" in decoded)) return decoded;
  const isLate = isGivenUp && start === undefined;
  return { ...decoded, destination: textAt(record, `${other}_ip`), ...(isLate && { isLate }) };
}

function labelsOf(record: Fields, event: string): string[] {
  if (event === "anomaly") return ["eve:anomaly"];
  if (event !== "alert" && !("alert" in record)) return [];
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
